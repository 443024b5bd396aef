//! What a command has left that was stopped, or failed: the record of it, and what git still has of that.

use crate::git::{BranchLock, Head};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::journal::{JournalRecord, RecoveryAim};
use crate::storage::tasks::task_files;
use crate::storage::{ProjectPath, StoreError};
use crate::tasks::recovery::table::Stand;

/// What a command has left.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    pub record: &'a JournalRecord,
    /// The branch that was to move.
    pub reference: Option<&'a str>,
    /// From where to where, as long as git has that: a commit that never got onto the branch may have been collected.
    pub branch: Option<&'a BranchLock>,
}

impl Left<'_> {
    /// Says whether HEAD is the branch that was to move. A record that names none is taken for one of HEAD's.
    pub(crate) fn stand(&self, head: &Head) -> Stand {
        if self.reference.is_none_or(|reference| reference == head.reference) {
            Stand::Own
        } else {
            Stand::Another
        }
    }

    /// One task's trouble is told, and keeps none of the others waiting, but where somebody was told that what is there is not done:
    /// nothing is changed before it is taken back.
    pub(crate) fn unless_of_one_task(
        self,
        workspace: &Workspace,
        result: Result<(), OpsError>,
    ) -> Result<(), OpsError> {
        match self.record.aim {
            RecoveryAim::Finish => unless_general(workspace, result),
            RecoveryAim::Undo => result.map_err(|fault| OpsError::NotPutBack {
                failure: None,
                fault: Box::new(fault),
                noted: true,
            }),
        }
    }
}

/// One task's trouble is told, and keeps none of the others waiting.
pub(crate) fn unless_general(
    workspace: &Workspace,
    result: Result<(), OpsError>,
) -> Result<(), OpsError> {
    match result {
        Err(error) if error.is_general() => Err(error),
        Err(error) => {
            tell_unfinished(workspace, &error);
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// The record goes all the same, so nobody tries it again: `aof status` has the files from then on.
pub(crate) fn tell_unfinished(workspace: &Workspace, error: &OpsError) {
    let fix = error.fix().map(|fix| format!("; {fix}")).unwrap_or_default();
    workspace.warn(format!(
        "what a command was stopped in could not be finished: {}{fix}",
        error.problem()
    ));
}

pub(crate) fn read(workspace: &Workspace, path: &ProjectPath) -> Result<Option<Vec<u8>>, OpsError> {
    match task_files::read(&workspace.paths, path) {
        Ok(snapshot) => Ok(Some(snapshot.bytes)),
        Err(StoreError::Gone { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
