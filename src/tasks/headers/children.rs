//! The children of tasks: those whose `parent` a task is.

use std::collections::{BTreeMap, HashSet};

use crate::domain::{Status, TaskId, WaitFor};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{is_over, waits_for_children};
use crate::storage::ProjectPath;
use crate::tasks::headers::listing::{ListScope, Listing, read_all};
use crate::tasks::headers::summary::{TaskSummary, gate_of};
use crate::tasks::state::task_state::{TaskState, committed_task, parse};

/// Returns the children that the open gate of the task waits for, with their states in HEAD: the entry that comes of it is
/// compared with the commit before it. Nothing at other gates.
pub(crate) fn awaited(
    workspace: &Workspace,
    state: &TaskState,
) -> Result<BTreeMap<TaskId, Status>, ProjectError> {
    let mut found = BTreeMap::new();
    if !waits_for_children(&state.in_force.rules, &state.file.task) {
        return Ok(found);
    }
    let listing = read_all(workspace, &state.in_force, ListScope::All);
    for (child, path) in &listing.tasks {
        if child.parent.as_ref() != Some(&state.id) {
            continue;
        }
        match committed_status(workspace, state, &child.id, path)? {
            Some((parent, status)) if parent.as_ref() == Some(&state.id) => {
                found.insert(child.id.clone(), status);
            }
            // What nobody has committed has not begun.
            _ => {
                found.insert(child.id.clone(), Status::Ready);
            }
        }
    }
    Ok(found)
}

/// Returns parent and status of the child in HEAD; `None` if HEAD does not have it.
fn committed_status(
    workspace: &Workspace,
    state: &TaskState,
    id: &TaskId,
    path: &ProjectPath,
) -> Result<Option<(Option<TaskId>, Status)>, ProjectError> {
    let Some(commit) = state.head.commit else { return Ok(None) };
    let file = match workspace.repository.read(commit, path.as_str())? {
        Some(bytes) => parse(&state.in_force, id, path, &bytes, workspace.now()).ok(),
        None => committed_task(workspace, &state.in_force, commit, id)?,
    };
    Ok(file.map(|file| (file.task.parent.clone(), file.task.status)))
}

/// Returns the ready tasks of the listing that wait for children. Reads the archive only for those without open children outside it:
/// failed ones are there.
pub(crate) fn waiting(
    workspace: &Workspace,
    in_force: &InForce,
    listing: &Listing,
) -> HashSet<TaskId> {
    let waits = |task: &TaskSummary| {
        let gate = gate_of(&in_force.rules, task).filter(|_| task.status == Status::Ready);
        gate.is_some_and(|gate| gate.wait_for == Some(WaitFor::Children))
    };
    let standing: HashSet<&TaskId> =
        listing.tasks.iter().filter(|(task, _)| waits(task)).map(|(task, _)| &task.id).collect();
    let with_open_children = |listing: &Listing| -> HashSet<TaskId> {
        let open = listing.tasks.iter().filter(|(task, _)| task.is_new || !is_over(task.status));
        let parents = open.filter_map(|(task, _)| task.parent.as_ref());
        parents.filter(|parent| standing.contains(parent)).cloned().collect()
    };
    let found = with_open_children(listing);
    if found.len() == standing.len() {
        return found;
    }
    with_open_children(&read_all(workspace, in_force, ListScope::All))
}
