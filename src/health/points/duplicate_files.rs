//! Tasks with two files. Which of them counts is a person's to say, unless one is a copy of the other
//! that was never committed, or was left behind where the other moved from.

use std::collections::BTreeMap;

use crate::domain::issue::Attention;
use crate::domain::{TaskId, listed};
use crate::git::{CommitId, Head};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::ProjectPath;
use crate::storage::layout::is_archived;
use crate::storage::tasks::atomic_write;
use crate::storage::tasks::task_files;
use crate::storage::tasks::task_files::{walk_active, walk_archived};
use crate::storage::tasks::walk::WalkEntry;
use crate::tasks::headers::listing::Unreadable;

/// A task with two files.
pub(crate) struct Doubled {
    /// What is the matter.
    pub problem: String,
    /// Why that matters.
    pub why: String,
    /// What to do.
    pub fix: String,
    /// Whether it is certain which one is to go.
    pub has_spare: bool,
}

/// Says what is to be said of a task with these files.
pub(crate) fn said_of(
    workspace: &Workspace,
    head: Option<CommitId>,
    (id, files): (&TaskId, &[ProjectPath]),
) -> Doubled {
    let why = match task_files::counting(id, files) {
        Some(path) => {
            let lists = if active(files) > 1 { ", and lists leave the task out" } else { "" };
            format!(
                "`{path}` counts where the task is named, since it stands where it is looked for first; what the others \
                 say is lost on everybody{lists}"
            )
        }
        None => "nobody can tell which of them counts, so no command touches the task".to_owned(),
    };
    let spare = spare(workspace, head, files);
    Doubled {
        problem: format!("{id} has {} files: {}", files.len(), listed(files)),
        why,
        fix: match spare {
            Some(spare) => {
                format!(
                    "`{spare}` is a copy that nobody committed, or was left behind: `aof doctor --fix` removes it"
                )
            }
            None => {
                format!(
                    "see what differs, keep one, and remove the others{}",
                    removal(workspace, head, files)
                )
            }
        },
        has_spare: spare.is_some(),
    }
}

/// Tasks with two files: each of these can be read, and the task cannot.
pub(crate) fn of_doubled(
    workspace: &Workspace,
    head: &Head,
    unreadable: &mut Vec<Unreadable>,
) -> Vec<Attention> {
    let stands = |own: &Unreadable, files: &[ProjectPath]| {
        own.diagnostics.is_empty() && files.iter().any(|path| path.as_str() == own.path)
    };
    if unreadable.iter().all(|own| !own.diagnostics.is_empty()) {
        return Vec::new();
    }
    let mut attention = Vec::new();
    for (id, files) in doubled(workspace) {
        if unreadable.iter().any(|own| stands(own, &files)) {
            unreadable.retain(|own| !stands(own, &files));
            let Doubled { problem, fix, .. } = said_of(workspace, head.commit, (&id, &files));
            attention.push(Attention { code: "task_doubled", problem, fix });
        }
    }
    attention
}

/// Returns the tasks that have several files, with them.
pub(crate) fn doubled(workspace: &Workspace) -> BTreeMap<TaskId, Vec<ProjectPath>> {
    let mut files: BTreeMap<TaskId, Vec<ProjectPath>> = BTreeMap::new();
    for entry in walk_active(&workspace.paths).chain(walk_archived(&workspace.paths)) {
        if let WalkEntry::Task(entry) = entry {
            files.entry(entry.id).or_default().push(entry.path);
        }
    }
    files.retain(|_, files| files.len() > 1);
    for files in files.values_mut() {
        files.sort();
    }
    files
}

/// Returns how many of them are among the active ones.
fn active(files: &[ProjectPath]) -> usize {
    files.iter().filter(|path| !is_archived(path)).count()
}

/// Says how a file is removed: `git rm` refuses one that git does not know.
fn removal(workspace: &Workspace, head: Option<CommitId>, files: &[ProjectPath]) -> String {
    let is_known = |path: &&ProjectPath| is_committed(workspace, head, path).unwrap_or(true);
    let (known, unknown): (Vec<_>, Vec<_>) = files.iter().partition(is_known);
    match (known.is_empty(), unknown.is_empty()) {
        (_, true) => " with `git rm`".to_owned(),
        (true, _) => " with `rm`".to_owned(),
        _ => format!(
            ", with `git rm`, or, where git does not know it, with `rm`: {}",
            listed(unknown.into_iter().map(ProjectPath::to_string))
        ),
    }
}

fn is_committed(workspace: &Workspace, head: Option<CommitId>, path: &ProjectPath) -> Option<bool> {
    workspace.repository.blob_id(head?, path.as_str()).ok().map(|found| found.is_some())
}

/// Returns of two files the one that HEAD does not have, if it says what the other does, or what HEAD once had at its place: what could
/// not be removed there when the task moved.
fn spare<'f>(
    workspace: &Workspace,
    head: Option<CommitId>,
    files: &'f [ProjectPath],
) -> Option<&'f ProjectPath> {
    let [one, other] = files else { return None };
    let bytes = |path| task_files::read(&workspace.paths, path).ok().map(|file| file.bytes);
    let is_committed = |path: &ProjectPath| is_committed(workspace, head, path);
    let (committed, spare) = match (is_committed(one)?, is_committed(other)?) {
        (true, false) => (one, other),
        (false, true) => (other, one),
        _ => return None,
    };
    let own = bytes(spare)?;
    let was_there = || workspace.repository.has_had_text(head?, spare.as_str(), &own).ok();
    (bytes(committed)? == own || was_there()?).then_some(spare)
}

pub(crate) fn remove_spare(workspace: &Workspace, files: &[ProjectPath]) -> Result<(), OpsError> {
    let lock = workspace.lock()?;
    let head = workspace.head()?.commit;
    let Some(spare) = spare(workspace, head, files) else { return Ok(()) };
    let bytes = task_files::read(&workspace.paths, spare)?.bytes;
    Ok(atomic_write::remove_if(&lock, spare, &bytes)?)
}
