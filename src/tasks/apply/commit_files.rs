//! Files beside the tasks, written in one go: all of them, or none. New files of rules are never written over what is there.

use crate::git::{CommitId, GitError, Head};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::tasks::atomic_write;
use crate::storage::{ProjectPath, StoreError, WriterLock};
use crate::tasks::apply::commit::commit;
use crate::tasks::plan::write::{Beside, Write};
use crate::tasks::recovery::recover::heal;
use crate::tasks::state::task_state::Version;

/// A new file.
pub(crate) type NewFile = (ProjectPath, Vec<u8>);

/// Writes the files and commits exactly them; nothing if somebody was faster: then one looks again.
pub(crate) fn commit_new(
    workspace: &Workspace,
    head: &Head,
    files: &[NewFile],
    message: &str,
) -> Result<Option<CommitId>, OpsError> {
    let new =
        |(path, bytes): &NewFile| Beside { path: path.clone(), before: None, bytes: bytes.clone() };
    let files: Vec<Beside> = files.iter().map(new).collect();
    let lock = workspace.lock()?;
    commit_files(workspace, &lock, head, &files, message)
}

/// Writes the files and commits exactly them, in one commit of git's user; nothing if somebody was faster: then one looks again.
pub(crate) fn commit_files(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    files: &[Beside],
    message: &str,
) -> Result<Option<CommitId>, OpsError> {
    let Some((first, beside)) = files.split_first() else { return Ok(None) };
    if heal(workspace, lock)? || workspace.head()? != *head {
        return Ok(None);
    }
    let (bytes, authored) = (first.bytes.clone(), workspace.now());
    let write = Write {
        id: None,
        head_path: first.before.as_ref().map(|_| first.path.clone()),
        from: first.before.as_ref().map(|before| (first.path.clone(), before.clone())),
        to: first.path.clone(),
        is_program: false,
        versions: vec![Version { bytes, message: message.to_owned(), author: None, authored }],
        companions: Vec::new(),
        beside: beside.to_vec(),
        by_hand: Vec::new(),
        recorded: None,
    };
    match commit(workspace, lock, head, &[write]) {
        Ok(commits) => Ok(commits.last().copied()),
        Err(
            OpsError::Store(
                StoreError::Exists { .. } | StoreError::Changed { .. } | StoreError::Gone { .. },
            )
            | OpsError::Git(GitError::Moved { .. }),
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes the files and commits nothing. Returns whether it did: else somebody was faster, and one looks again.
pub(crate) fn write_new(workspace: &Workspace, files: &[NewFile]) -> Result<bool, OpsError> {
    let lock = workspace.lock()?;
    heal(workspace, &lock)?;
    for (made, (path, bytes)) in files.iter().enumerate() {
        let Err(error) = atomic_write::create_new(&lock, path, bytes) else { continue };
        for (path, bytes) in &files[..made] {
            atomic_write::remove_if(&lock, path, bytes)?;
        }
        return match error {
            StoreError::Exists { .. } => Ok(false),
            error => Err(error.into()),
        };
    }
    Ok(true)
}

/// Returns which of the files is there already, in the worktree or in HEAD.
pub(crate) fn standing<'f>(
    workspace: &Workspace,
    head: &Head,
    files: impl IntoIterator<Item = &'f ProjectPath>,
) -> Result<Option<&'f ProjectPath>, OpsError> {
    for path in files {
        let stands = path.below(workspace.paths.root()).symlink_metadata().is_ok();
        let committed = match head.commit {
            Some(commit) => workspace.repository.blob_id(commit, path.as_str())?.is_some(),
            None => false,
        };
        if stands || committed {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
