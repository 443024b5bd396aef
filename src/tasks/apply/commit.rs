//! Writes are committed under the lock; what a failure leaves behind is put right at once, or by the next command.

use crate::git::{CommitId, GitError, Head};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::atomic_write;
use crate::storage::journal::RecoveryAim;
use crate::storage::{ProjectPath, StoreError, WriterLock};
use crate::tasks::plan::write::{Beside, Write};
use crate::tasks::publish::commit::{Failed, Stuck, publish};
use crate::tasks::recovery::recover;
use crate::tasks::state::task_state::FileVersion;

/// A new file.
pub(crate) type NewFile = (ProjectPath, Vec<u8>);

/// Commits writes that were decided on that HEAD. Returns nothing where the branch, or a file, is not what it was then: it has to be
/// decided anew.
pub(crate) fn commit_unless_changed(
    workspace: &Workspace,
    head: &Head,
    writes: &[Write],
    is_current: impl FnOnce() -> Result<bool, ProjectError>,
) -> Result<Option<Vec<CommitId>>, ProjectError> {
    let lock = workspace.lock()?;
    if recover::heal(workspace, &lock)? || !is_current()? {
        return Ok(None);
    }
    let is_new = writes.iter().all(|write| write.id.is_none() || write.from.is_none());
    match commit(workspace, &lock, head, writes) {
        Ok(commits) => Ok(Some(commits)),
        // What was read is looked at once more under git's own lock. Whatever git is in the middle of by now is waited for when
        // the branch is read again.
        Err(
            ProjectError::Git(GitError::Moved { .. } | GitError::Waiting { .. })
            | ProjectError::Store(StoreError::Changed { .. }),
        ) => Ok(None),
        // A name, or the id of a new task, was taken in the meantime.
        Err(ProjectError::Store(StoreError::Exists { .. } | StoreError::Gone { .. })) if is_new => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Commits writes of different tasks, each version a commit of its own, in one move of the branch. Returns the last commit of
/// each write.
pub(crate) fn commit(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    writes: &[Write],
) -> Result<Vec<CommitId>, ProjectError> {
    let Failed { error, stuck } = match publish(workspace, lock, head, writes, RecoveryAim::Undo) {
        Ok(commits) => return Ok(commits),
        Err(failed) => *failed,
    };
    match stuck {
        None if matches!(error, ProjectError::Store(StoreError::NotDurable { .. })) => {}
        // The index may have moved before the branch could not. If that cannot be healed now the record stays, and the next
        // command heals it; what is told is why the commit failed.
        None => drop(recover::heal(workspace, lock)),
        // It is tried once more, and by whoever comes next.
        Some(Stuck { noted: true, .. }) if recover::heal(workspace, lock).is_ok() => {}
        // Without the note it would be finished: so it is only told that somebody will do that.
        Some(Stuck { fault, noted }) => {
            let (failure, fault) = (Some(Box::new(error)), Box::new(ProjectError::from(fault)));
            return Err(ProjectError::NotPutBack { failure, fault, noted });
        }
    }
    Err(error)
}

/// Writes new files and commits exactly them, likewise. Nothing is written over what is there.
pub(crate) fn commit_new(
    workspace: &Workspace,
    head: &Head,
    files: &[NewFile],
    message: &str,
) -> Result<Option<CommitId>, ProjectError> {
    let new =
        |(path, bytes): &NewFile| Beside { path: path.clone(), before: None, bytes: bytes.clone() };
    commit_files(workspace, head, &files.iter().map(new).collect::<Vec<_>>(), message)
}

/// Writes the files, all of them or none, and commits exactly them, in one commit of git's user.
pub(crate) fn commit_files(
    workspace: &Workspace,
    head: &Head,
    files: &[Beside],
    message: &str,
) -> Result<Option<CommitId>, ProjectError> {
    let Some((first, beside)) = files.split_first() else { return Ok(None) };
    let (bytes, authored) = (first.bytes.clone(), workspace.now());
    let versions = vec![FileVersion { bytes, message: message.to_owned(), author: None, authored }];
    let write = Write {
        head_path: first.before.as_ref().map(|_| first.path.clone()),
        from: first.before.as_ref().map(|before| (first.path.clone(), before.clone())),
        beside: beside.to_vec(),
        ..Write::of_new_file(None, first.path.clone(), versions)
    };
    let is_current = || Ok(workspace.head()? == *head);
    let commits = commit_unless_changed(workspace, head, &[write], is_current)?;
    Ok(commits.and_then(|commits| commits.last().copied()))
}

/// Writes the files and commits nothing. Returns whether it did: else somebody was faster, and one looks again.
pub(crate) fn write_new(workspace: &Workspace, files: &[NewFile]) -> Result<bool, ProjectError> {
    let lock = workspace.lock()?;
    recover::heal(workspace, &lock)?;
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
pub(crate) fn existing_file<'f>(
    workspace: &Workspace,
    head: &Head,
    files: impl IntoIterator<Item = &'f ProjectPath>,
) -> Result<Option<&'f ProjectPath>, ProjectError> {
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
