//! Task files that differ from HEAD in their line ends alone: git wrote them so, by attributes or settings that it went by then.

use super::error::OpsError;
use super::workspace::Workspace;
use crate::audit::{Head, ObjectId, TreeFile};
use crate::store::layout::{TASKS, is_archived};
use crate::store::tasks::read;
use crate::store::{ProjectPath, StoreError, WriterLock, atomic};

/// One of them.
pub(super) struct Elsewise {
    pub path: ProjectPath,
    bytes: Vec<u8>,
    committed: ObjectId,
}

/// Returns all of them.
pub(super) fn elsewise(workspace: &Workspace, head: &Head) -> Result<Vec<Elsewise>, OpsError> {
    among(workspace, head, |_| true)
}

/// Returns those that are not in the archive, which may be large.
pub(super) fn elsewise_active(workspace: &Workspace, head: &Head) -> Result<Vec<Elsewise>, OpsError> {
    among(workspace, head, |path| !is_archived(path))
}

fn among(workspace: &Workspace, head: &Head, wanted: fn(&ProjectPath) -> bool) -> Result<Vec<Elsewise>, OpsError> {
    let Some(commit) = head.commit else { return Ok(Vec::new()) };
    let repository = &workspace.repository;
    let mut found = Vec::new();
    for TreeFile { path, id } in repository.list(commit, TASKS)? {
        let Some(path) =
            path.parse::<ProjectPath>().ok().filter(|path| path.name().strip_suffix(".md").is_some() && wanted(path))
        else {
            continue;
        };
        // What cannot be read is told elsewhere.
        let Ok(snapshot) = read(&workspace.paths, &path) else { continue };
        if repository.hash_blob(&snapshot.bytes) != id && repository.is_same_text(&snapshot.bytes, id) {
            found.push(Elsewise { path, bytes: snapshot.bytes, committed: id });
        }
    }
    Ok(found)
}

/// Writes them as they were committed; what somebody changed since stays, and what somebody has staged of another version.
pub(super) fn write_as_committed(workspace: &Workspace, lock: &WriterLock, files: &[Elsewise]) -> Result<(), OpsError> {
    if files.is_empty() {
        return Ok(());
    }
    let staged = workspace.repository.staged_below(TASKS)?;
    let is_staged = |path: &ProjectPath| staged.iter().any(|file| file.path == path.as_str());
    let mut written = Vec::new();
    for file in files.iter().filter(|file| !is_staged(&file.path)) {
        let committed = workspace.repository.read_blob(file.committed)?;
        match atomic::replace_if(lock, &file.path, &file.bytes, &committed) {
            Ok(()) => written.push(file.path.to_string()),
            Err(StoreError::Changed { .. } | StoreError::Gone { .. }) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
    Ok(workspace.repository.look_again(&written)?)
}
