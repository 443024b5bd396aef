//! Finds the task that a person typed: by its id, or by the beginning of one. Files and programs name whole ids.

use crate::domain::{Fix, Remedy, TaskId, Ticket, TypedTask, advice};
use crate::files::printable::one_line;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::StoreError;
use crate::storage::task_files;
use crate::storage::task_files::WalkEntry;
use crate::tasks::headers::listing::{ListScope, read_all};
use crate::tasks::state::task_state::{find, path_in};

/// The most tasks that are named for an ambiguous id.
const FEW: usize = 10;

/// Returns the task, or the visit of it, that was typed. A whole id counts as it is; otherwise exactly one task must match the
/// beginning. Active tasks have precedence.
pub(crate) fn ticket(workspace: &Workspace, typed: &TypedTask) -> Result<Ticket, ProjectError> {
    let TypedTask { visit, branch, .. } = typed.clone();
    Ok(Ticket { task: task(workspace, typed)?, visit, branch })
}

/// Returns the task that was typed.
pub(crate) fn task(workspace: &Workspace, typed: &TypedTask) -> Result<TaskId, ProjectError> {
    let (paths, text) = (&workspace.paths, typed.task.as_str());
    let whole = text.parse::<TaskId>().ok();
    if let Some(id) = &whole
        && !matches!(task_files::find(paths, id), Err(StoreError::TaskNotFound { .. }))
    {
        return Ok(id.clone());
    }
    let mut scope = ListScope::Active;
    let mut found = matching(task_files::walk_active(paths), text);
    if found.is_empty() {
        scope = ListScope::All;
        found = matching(task_files::walk_archived(paths), text);
    }
    match (whole, &found[..]) {
        // If there is no such task, the command reports that. If only the worktree lacks the task, no other one is meant.
        (Some(id), _) if found.is_empty() || is_committed(workspace, &id) => Ok(id),
        (_, [only]) => Ok(only.clone()),
        (_, []) => unknown(workspace, text),
        _ => Err(ambiguous(workspace, text, &found, scope)),
    }
}

/// Returns the tasks, in order.
pub(crate) fn each(
    workspace: &Workspace,
    typed: &[TypedTask],
) -> Result<Vec<TaskId>, ProjectError> {
    typed.iter().map(|typed| task(workspace, typed)).collect()
}

/// Returns the ids that begin with the text; only the exact match, apart from case and prefix, if there is one.
fn matching(entries: impl Iterator<Item = WalkEntry>, text: &str) -> Vec<TaskId> {
    let begins = |entry: WalkEntry| match entry {
        WalkEntry::Task(task) if task.id.begins_with(text) => Some(task.id),
        _ => None,
    };
    let mut ids: Vec<TaskId> = entries.filter_map(begins).collect();
    ids.sort();
    ids.dedup();
    let is_whole = |id: &&TaskId| [id.as_str().len(), id.local().len()].contains(&text.len());
    match &ids.iter().filter(is_whole).collect::<Vec<_>>()[..] {
        [only] => vec![(*only).clone()],
        _ => ids,
    }
}

fn is_committed(workspace: &Workspace, id: &TaskId) -> bool {
    let commit = workspace.repository.head_for_reading().ok().and_then(|head| head.commit);
    commit.is_some_and(|commit| path_in(workspace, commit, id).is_ok_and(|path| path.is_some()))
}

/// Fails with the error for a whole id that is not a task's.
fn unknown(workspace: &Workspace, text: &str) -> Result<TaskId, ProjectError> {
    let id = if let Some((prefix, local)) = text.split_once('-') {
        format!("{}-{}", prefix.to_ascii_uppercase(), local.to_ascii_lowercase())
    } else {
        let prefix = workspace.rules().map(|in_force| in_force.rules.project.id_prefix.clone());
        format!("{}-{}", prefix.unwrap_or_default(), text.to_ascii_lowercase())
    };
    if let Ok(id) = id.parse::<TaskId>() {
        return find(workspace, &id).map(|_| id);
    }
    Err(ProjectError::Unfit {
        code: "task_not_found",
        problem: format!("no task begins with `{text}`"),
        fix: advice![Fix::from(Remedy::List).flag("all"), " lists them all"],
    })
}

fn ambiguous(
    workspace: &Workspace,
    text: &str,
    found: &[TaskId],
    scope: ListScope,
) -> ProjectError {
    let listing = workspace.rules().map(|in_force| read_all(workspace, &in_force, scope));
    let tasks = listing.map(|listing| listing.tasks).unwrap_or_default();
    let title = |id: &TaskId| {
        let task = tasks.iter().find(|(task, _)| task.id == *id);
        task.map(|(task, _)| one_line(&task.title)).unwrap_or_default()
    };
    let candidates = found.iter().take(FEW).map(|id| (id.clone(), title(id))).collect();
    ProjectError::AmbiguousTask { text: text.to_owned(), candidates, count: found.len() }
}
