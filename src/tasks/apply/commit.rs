//! Writes are committed; what a failure leaves behind is put right at once, or by the next command.

use crate::git::{CommitId, Head};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::journal::RecoveryAim;
use crate::storage::{StoreError, WriterLock};
use crate::tasks::plan::write::Write;
use crate::tasks::publish::commit::{Failed, Stuck, publish};
use crate::tasks::recovery::recover;

/// Commits writes of different tasks, each version a commit of its own, in one move of the branch. Returns the last commit of
/// each write.
pub(crate) fn commit(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    writes: &[Write],
) -> Result<Vec<CommitId>, OpsError> {
    let Failed { error, stuck } = match publish(workspace, lock, head, writes, RecoveryAim::Undo) {
        Ok(commits) => return Ok(commits),
        Err(failed) => *failed,
    };
    match stuck {
        None if matches!(error, OpsError::Store(StoreError::NotDurable { .. })) => {}
        // The index may have moved before the branch could not. If that cannot be healed now the record stays, and the next
        // command heals it; what is told is why the commit failed.
        None => drop(recover::heal(workspace, lock)),
        // It is tried once more, and by whoever comes next.
        Some(Stuck { noted: true, .. }) if recover::heal(workspace, lock).is_ok() => {}
        // Without the note it would be finished: so it is only told that somebody will do that.
        Some(Stuck { fault, noted }) => {
            let (failure, fault) = (Some(Box::new(error)), Box::new(OpsError::from(fault)));
            return Err(OpsError::NotPutBack { failure, fault, noted });
        }
    }
    Err(error)
}
