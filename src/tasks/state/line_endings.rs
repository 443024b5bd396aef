//! Task files that differ from HEAD in their line ends alone: git wrote them so, by attributes or settings that it went by then.

use crate::git::{Head, ObjectId, TreeFile};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::layout::{TASKS, is_archived};
use crate::storage::tasks::atomic_write;
use crate::storage::tasks::task_files::read;
use crate::storage::{ProjectPath, StoreError, WriterLock};

/// Stands for every task where git's attributes are asked.
pub(crate) const TASK: &str = "tasks/AOF-abc.md";

/// One of them.
pub(crate) struct Elsewise {
    pub path: ProjectPath,
    bytes: Vec<u8>,
    committed: ObjectId,
}

/// Returns all of them.
pub(crate) fn elsewise(workspace: &Workspace, head: &Head) -> Result<Vec<Elsewise>, OpsError> {
    among(workspace, head, |_| true)
}

/// Returns those that are not in the archive, which may be large.
pub(crate) fn elsewise_active(
    workspace: &Workspace,
    head: &Head,
) -> Result<Vec<Elsewise>, OpsError> {
    among(workspace, head, |path| !is_archived(path))
}

fn among(
    workspace: &Workspace,
    head: &Head,
    wanted: fn(&ProjectPath) -> bool,
) -> Result<Vec<Elsewise>, OpsError> {
    let Some(commit) = head.commit else { return Ok(Vec::new()) };
    let repository = &workspace.repository;
    let mut found = Vec::new();
    for TreeFile { path, id } in repository.list(commit, TASKS)? {
        let Some(path) = path
            .parse::<ProjectPath>()
            .ok()
            .filter(|path| path.name().strip_suffix(".md").is_some() && wanted(path))
        else {
            continue;
        };
        // What cannot be read is told elsewhere.
        let Ok(snapshot) = read(&workspace.paths, &path) else { continue };
        if repository.hash_blob(&snapshot.bytes) != id
            && repository.is_same_text(&snapshot.bytes, id)
        {
            found.push(Elsewise { path, bytes: snapshot.bytes, committed: id });
        }
    }
    Ok(found)
}

/// Returns whether a file, by its path from the worktree's top, is one of them where git does not convert line ends: git takes it for
/// modified, and nobody has edited it.
pub(crate) fn gives_way(workspace: &Workspace, head: &Head, full_path: &str) -> bool {
    let repository = &workspace.repository;
    let judged = || {
        let path: ProjectPath = repository.own_path(full_path)?.parse().ok()?;
        let committed = repository.blob_id(head.commit?, path.as_str()).ok()??;
        let is_task = is_below_tasks(&path) && path.name().strip_suffix(".md").is_some();
        let is_kept = is_task && !repository.converts_line_ends(path.as_str()).ok()?;
        let bytes = read(&workspace.paths, &path).ok().filter(|_| is_kept)?.bytes;
        Some(
            repository.hash_blob(&bytes) != committed && repository.is_same_text(&bytes, committed),
        )
    };
    judged().unwrap_or(false)
}

fn is_below_tasks(path: &ProjectPath) -> bool {
    path.as_str().strip_prefix(TASKS).is_some_and(|rest| rest.starts_with('/'))
}

/// Where any of these files is one that gives way, all of them are written as committed. Says whether any was.
pub(crate) fn clear_the_way(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    files: &[String],
) -> Result<bool, OpsError> {
    if !files.iter().any(|file| gives_way(workspace, head, file)) {
        return Ok(false);
    }
    write_as_committed(workspace, lock, &elsewise(workspace, head)?)
}

/// Writes them as they were committed, and says whether there was any; what somebody changed since stays, and what somebody has
/// staged of another version.
pub(crate) fn write_as_committed(
    workspace: &Workspace,
    lock: &WriterLock,
    files: &[Elsewise],
) -> Result<bool, OpsError> {
    if files.is_empty() {
        return Ok(false);
    }
    let staged = workspace.repository.staged_below(TASKS)?;
    let is_staged = |path: &ProjectPath| staged.iter().any(|file| file.path == path.as_str());
    let mut written = Vec::new();
    for file in files.iter().filter(|file| !is_staged(&file.path)) {
        let committed = workspace.repository.read_blob(file.committed)?;
        match atomic_write::replace_if(lock, &file.path, &file.bytes, &committed) {
            Ok(()) => written.push(file.path.to_string()),
            Err(StoreError::Changed { .. } | StoreError::Gone { .. }) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
    workspace.repository.look_again(&written)?;
    Ok(!written.is_empty())
}
