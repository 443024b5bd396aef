//! Finds the task that a person typed: by its id, or by the beginning of one. Files and programs name whole ids.

use std::collections::HashMap;

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
    ticket_if(workspace, typed, |_, _| false)
}

/// Returns the task that was typed.
pub(crate) fn task(workspace: &Workspace, typed: &TypedTask) -> Result<TaskId, ProjectError> {
    Ok(ticket(workspace, typed)?.task)
}

/// Returns the task as `ticket` does, for a command that changes it. If only another part of its id, or a word of its title, was typed,
/// it must be confirmed: `ask` gets the id and the title.
pub(crate) fn ticket_if(
    workspace: &Workspace,
    typed: &TypedTask,
    ask: impl FnOnce(&TaskId, &str) -> bool,
) -> Result<Ticket, ProjectError> {
    let found = by_beginning(workspace, &typed.task).or_else(|error| {
        match &similar(workspace, &typed.task, &error)[..] {
            [(id, title)] if ask(id, title) => Ok(id.clone()),
            [(id, title)] => Err(ProjectError::Unfit {
                code: "task_not_found",
                problem: format!("no task begins with `{}`", typed.task),
                fix: format!("did you mean `{id}`, `{title}`?").into(),
            }),
            _ => Err(error),
        }
    });
    Ok(ticket_of(typed, found?))
}

/// Returns the task as `ticket` does, for a command that changes nothing: another part of its id, or a word of its title, is enough.
pub(crate) fn ticket_to_read(
    workspace: &Workspace,
    typed: &TypedTask,
) -> Result<Ticket, ProjectError> {
    let text = &typed.task;
    let found = by_beginning(workspace, text).or_else(|error| {
        let mut similar = similar(workspace, text, &error);
        match similar.len() {
            0 => Err(error),
            1 => Ok(similar.remove(0).0),
            _ => Err(ambiguous(format!("have `{text}` in id or title"), similar)),
        }
    });
    Ok(ticket_of(typed, found?))
}

fn ticket_of(typed: &TypedTask, task: TaskId) -> Ticket {
    Ticket { task, visit: typed.visit, branch: typed.branch.clone() }
}

/// Returns the task with that id, or the only one whose id begins with the text.
fn by_beginning(workspace: &Workspace, text: &str) -> Result<TaskId, ProjectError> {
    let paths = &workspace.paths;
    let whole = text.parse::<TaskId>().ok();
    if let Some(id) = &whole
        && !matches!(task_files::find(paths, id), Err(StoreError::TaskNotFound { .. }))
    {
        return Ok(id.clone());
    }
    let mut scope = ListScope::Active;
    let mut found = matching(ids(task_files::walk_active(paths)), text);
    if found.is_empty() {
        scope = ListScope::All;
        found = matching(ids(task_files::walk_archived(paths)), text);
    }
    match (whole, &found[..]) {
        // If there is no such task, the command reports that. If only the worktree lacks the task, no other one is meant.
        (Some(id), _) if found.is_empty() || is_committed(workspace, &id) => Ok(id),
        (_, [only]) => Ok(only.clone()),
        (_, []) => unknown(workspace, text),
        _ => {
            let mut titles: HashMap<TaskId, String> = titles(workspace, scope).collect();
            let titled = |id: TaskId| titles.remove_entry(&id).unwrap_or((id, String::new()));
            let found = found.into_iter().map(titled).collect();
            Err(ambiguous(format!("begin with `{text}`"), found))
        }
    }
}

/// Returns the tasks, with their titles, that have the text in their ids or as a word of their titles; finished ones only if no open one
/// has it. Returns none unless the text is part of no known id.
fn similar(workspace: &Workspace, text: &str, error: &ProjectError) -> Vec<(TaskId, String)> {
    let is_unknown = matches!(
        error,
        ProjectError::Unfit { code: "task_not_found", .. }
            | ProjectError::NoTask { committed: None, .. }
    );
    // A text with a dash is meant as an id.
    if !is_unknown || text.len() < 2 || text.contains('-') {
        return Vec::new();
    }
    let text = text.to_ascii_lowercase();
    let is_word = |word: &str| {
        let word = word.to_lowercase();
        word == text || (text.len() >= 3 && word.starts_with(&text))
    };
    let has = |(id, title): &(TaskId, String)| {
        id.local().contains(&text) || title.split(|c: char| !c.is_alphanumeric()).any(is_word)
    };
    let found = |scope| {
        let mut found: Vec<_> = titles(workspace, scope).filter(has).collect();
        found.sort();
        found.dedup();
        found
    };
    let open = found(ListScope::Active);
    if open.is_empty() { found(ListScope::All) } else { open }
}

fn titles(workspace: &Workspace, scope: ListScope) -> impl Iterator<Item = (TaskId, String)> {
    let listing = workspace.rules().map(|in_force| read_all(workspace, &in_force, scope));
    let tasks = listing.map(|listing| listing.tasks).unwrap_or_default();
    tasks.into_iter().map(|(task, _)| (task.id.clone(), one_line(&task.title)))
}

fn ids(entries: impl Iterator<Item = WalkEntry>) -> impl Iterator<Item = TaskId> {
    entries.filter_map(|entry| match entry {
        WalkEntry::Task(task) => Some(task.id),
        WalkEntry::Stray(_) => None,
    })
}

/// Returns the ids that begin with the text; only the exact match, apart from case and prefix, if there is one.
fn matching(ids: impl Iterator<Item = TaskId>, text: &str) -> Vec<TaskId> {
    let mut ids: Vec<TaskId> = ids.filter(|id| id.begins_with(text)).collect();
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

/// Returns the error for tasks that all `fit`: `begin with ...`.
fn ambiguous(fit: String, found: Vec<(TaskId, String)>) -> ProjectError {
    let count = found.len();
    let candidates = found.into_iter().take(FEW).collect();
    ProjectError::AmbiguousTask { fit, candidates, count }
}
