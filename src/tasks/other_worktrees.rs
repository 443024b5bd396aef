//! The tasks that other worktrees of the repository have committed. Each worktree has a branch, and so tasks, of its own: a task
//! that one hands out must not be handed out by another.

use std::collections::BTreeMap;

use crate::domain::{GateId, Task, TaskId};
use crate::git::{CommitId, OtherHead};
use crate::project::active_rules::InForce;
use crate::project::error::{ProjectError, WorktreeDifference};
use crate::project::workspace::{Network, Workspace};
use crate::rules::{Rules, Workplace};
use crate::storage::layout::{TASKS, task_id};
use crate::storage::{Paths, WriterLock};
use crate::tasks::plan::DryRun;
use crate::tasks::state::task_state::{TaskState, committed_task};

/// Keeps other worktrees from claiming tasks until the lock is dropped. Returns no lock if there is no other worktree. Take it
/// before the writer lock.
pub(crate) fn lock_claims(
    workspace: &Workspace,
    dry_run: DryRun,
) -> Result<Option<WriterLock>, ProjectError> {
    if dry_run == DryRun::Yes || workspace.repository.other_heads()?.is_empty() {
        return Ok(None);
    }
    // All worktrees share git's common folder.
    workspace.lock_at(&Paths::of_checkout(workspace.repository.common_dir())).map(Some)
}

/// Fails if a commit of another worktree forbids handing out the task, or the branch of it, here.
pub(crate) fn ensure_free_elsewhere(
    workspace: &Workspace,
    state: &TaskState,
    branch: Option<&GateId>,
) -> Result<(), ProjectError> {
    let (rules, task) = (&state.in_force.rules, &state.file.task);
    let is_held = Workplace::find(rules, task, branch).is_some_and(|here| here.holder.is_some());
    if workspace.network == Network::Spared || is_held {
        return Ok(());
    }
    for other in workspace.repository.other_heads()? {
        if Some(other.commit) == state.head.commit {
            continue;
        }
        let Some(there) = committed_task(workspace, &state.in_force, other.commit, &state.id)?
        else {
            continue;
        };
        if let Some(difference) = difference(rules, task, &there.task, branch) {
            let ticket = task.ticket_of(branch);
            return Err(ProjectError::TakenElsewhere { ticket, worktree: other, difference });
        }
    }
    Ok(())
}

/// Returns the tasks that another worktree holds or has moved on, with the difference, by id.
pub(crate) fn differing_tasks(
    workspace: &Workspace,
    in_force: &InForce,
    head: CommitId,
    other: &OtherHead,
) -> Result<BTreeMap<TaskId, WorktreeDifference>, ProjectError> {
    let mut found = BTreeMap::new();
    if other.commit == head {
        return Ok(found);
    }
    let ours = workspace.repository.list(head, TASKS)?;
    let ours: BTreeMap<_, _> = ours.into_iter().map(|file| (file.path, file.id)).collect();
    for file in workspace.repository.list(other.commit, TASKS)? {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let Some(Ok(id)) = task_id(name).filter(|_| ours.get(&file.path) != Some(&file.id)) else {
            continue;
        };
        let of = |commit| committed_task(workspace, in_force, commit, &id);
        let (Some(here), Some(there)) = (of(head)?, of(other.commit)?) else { continue };
        let rules = &in_force.rules;
        let branches = here.task.branches().map(|branch| Some(&branch.id));
        let difference = std::iter::once(None)
            .chain(branches)
            .find_map(|branch| difference(rules, &here.task, &there.task, branch));
        found.extend(difference.map(|difference| (id, difference)));
    }
    Ok(found)
}

/// Returns the difference between the task there and the one here. A task that is only behind is not a reason to wait.
fn difference(
    rules: &Rules,
    here: &Task,
    there: &Task,
    branch: Option<&GateId>,
) -> Option<WorktreeDifference> {
    if there.history == here.history {
        let holder = |task| Workplace::find(rules, task, branch)?.holder;
        let other = holder(there).filter(|other| holder(here) != Some(other));
        return other.cloned().map(WorktreeDifference::Held);
    }
    if here.history.starts_with(&there.history) {
        return None;
    }
    let is_ahead = there.history.starts_with(&here.history);
    Some(if is_ahead { WorktreeDifference::Ahead } else { WorktreeDifference::Diverged })
}
