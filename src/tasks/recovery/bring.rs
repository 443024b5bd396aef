//! What the remote has comes into the worktree, under the writer lock.

use std::time::Instant;

use crate::git::{CommitId, GitError, Head};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::StoreError;
use crate::storage::journal;
use crate::tasks::recovery::interrupted_sync::record;
use crate::tasks::recovery::recover;

/// What became of it.
pub(crate) enum BringOutcome {
    /// The branch is there.
    There,
    /// Somebody committed meanwhile: it has to be looked at again.
    Moved,
    /// Files are in the way; nothing was changed.
    Blocked(GitError),
}

/// Brings branch, index and worktree to a later commit. Filters run while the lock is held.
pub(crate) fn bring(
    workspace: &Workspace,
    head: &Head,
    to: CommitId,
    subject: &str,
) -> Result<BringOutcome, ProjectError> {
    // What may not come is told before anybody waits for a lock.
    match workspace.repository.may_come(head.commit, to) {
        Err(error) if is_blocked(&error) => return Ok(BringOutcome::Blocked(error)),
        asked => asked?,
    }
    let lock = &workspace.lock()?;
    if recover::heal(workspace, lock)? {
        return Ok(BringOutcome::Moved);
    }
    let deadline = Instant::now().max(workspace.deadline());
    let brought =
        workspace.repository.bring(head, to, subject, deadline, &mut |locks| record(lock, locks));
    match brought {
        Ok(published) => {
            if let Some(fault) = published.not_synced {
                // The record stays for the next command.
                return Err(StoreError::from(fault).into());
            }
            journal::clear(lock)?;
            Ok(BringOutcome::There)
        }
        // That is asked before any file is changed.
        Err(error) if is_blocked(&error) => {
            journal::clear(lock)?;
            Ok(BringOutcome::Blocked(error))
        }
        Err(error) => {
            // It may have got half-way; before the first file the record is only cleared, and nobody waited for. If that cannot be
            // healed now, the record stays, and the next command does it.
            recover::heal(workspace, lock)?;
            match error {
                GitError::Moved { .. } | GitError::Waiting { .. } => Ok(BringOutcome::Moved),
                _ if workspace.head()?.commit == Some(to) => Ok(BringOutcome::There),
                error => Err(error.into()),
            }
        }
    }
}

/// Returns whether people have to see to something before files can be brought in.
fn is_blocked(error: &GitError) -> bool {
    matches!(
        error,
        GitError::InTheWay { .. }
            | GitError::OwnFolder { .. }
            | GitError::OwnFolderTakenOut { .. }
            | GitError::Forbidden { .. }
    )
}
