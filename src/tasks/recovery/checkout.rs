//! What the remote has comes into the worktree, under the writer lock.

use std::time::Instant;

use crate::git::{CommitId, GitError, Head};
use crate::history::sync::sync::Left;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::StoreError;
use crate::storage::journal;
use crate::tasks::recovery::interrupted_sync::record;
use crate::tasks::recovery::recover;

/// What became of it.
pub(crate) enum Brought {
    /// The branch is there.
    There,
    /// Somebody committed meanwhile: it has to be looked at again.
    Moved,
    /// It is left to people; nothing was changed.
    Left(Left),
}

/// Brings branch, index and worktree to a later commit. Filters run while the lock is held.
pub(crate) fn bring(
    workspace: &Workspace,
    head: &Head,
    to: CommitId,
    subject: &str,
) -> Result<Brought, OpsError> {
    // What may not come is told before anybody waits for a lock.
    if let Err(left) = left(workspace.repository.may_come(head.commit, to))? {
        return Ok(Brought::Left(left));
    }
    let lock = &workspace.lock()?;
    if recover::heal(workspace, lock)? {
        return Ok(Brought::Moved);
    }
    let deadline = Instant::now().max(workspace.deadline());
    let brought =
        workspace.repository.bring(head, to, subject, deadline, &mut |locks| record(lock, locks));
    match left(brought) {
        Ok(Ok(published)) => {
            if let Some(fault) = published.not_synced {
                // The record stays for the next command.
                return Err(StoreError::from(fault).into());
            }
            journal::clear(lock)?;
            Ok(Brought::There)
        }
        // That is asked before any file is changed.
        Ok(Err(left)) => {
            journal::clear(lock)?;
            Ok(Brought::Left(left))
        }
        Err(error) => {
            // It may have got half-way; before the first file the record is only cleared, and nobody waited for. If that cannot be
            // healed now, the record stays, and the next command does it.
            recover::heal(workspace, lock)?;
            match error {
                GitError::Moved { .. } | GitError::Waiting { .. } => Ok(Brought::Moved),
                _ if workspace.head()?.commit == Some(to) => Ok(Brought::There),
                error => Err(error.into()),
            }
        }
    }
}

/// Returns what people have to see to before files can be brought in.
pub(crate) fn left<T>(asked: Result<T, GitError>) -> Result<Result<T, Left>, GitError> {
    match asked {
        Ok(done) => Ok(Ok(done)),
        Err(GitError::InTheWay { files }) => Ok(Err(Left::InTheWay { files })),
        Err(GitError::OwnFolder { files }) => Ok(Err(Left::OwnFolder { files })),
        Err(GitError::Forbidden { path }) => Ok(Err(Left::Forbidden { path })),
        Err(GitError::OwnFolderTakenOut { files }) => Ok(Err(Left::OwnFolderTakenOut { files })),
        Err(error) => Err(error),
    }
}
