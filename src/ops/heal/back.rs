//! What a command wrote that is not to count goes back to what was there before, as long as it is exactly that.

use super::look::before;
use super::read;
use crate::audit::{BranchLock, Head};
use crate::model::Digest;
use crate::ops::error::OpsError;
use crate::ops::workspace::Workspace;
use crate::store::intent::Write as Intended;
use crate::store::{StoreError, WriterLock, atomic};

/// Puts the task's file back: what was there before stands at its old place again, and nothing of the new version at either. What
/// somebody changes meanwhile stays.
pub(super) fn put_back(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    branch: Option<&BranchLock>,
    write: &Intended,
) -> Result<(), OpsError> {
    let meant = |path| -> Result<Option<Vec<u8>>, OpsError> {
        Ok(read(workspace, path)?.filter(|bytes| Digest::of(bytes) == write.sha256))
    };
    if let Some(old) = &write.old {
        let Some(before) = before(workspace, head, branch, old)? else { return Ok(()) };
        if let Some(here) = meant(&old.path)?.filter(|here| *here != before) {
            unless_changed(atomic::replace_if(lock, &old.path, &here, &before))?;
        } else if old.path != write.new && read(workspace, &old.path)?.is_none() && meant(&write.new)?.is_some() {
            // Only the new one is left of it.
            atomic::create_new(lock, &old.path, &before)?;
        }
        if old.path == write.new {
            return Ok(());
        }
    }
    if let Some(there) = meant(&write.new)? {
        unless_changed(atomic::remove_if(lock, &write.new, &there))?;
    }
    Ok(())
}

fn unless_changed(result: Result<(), StoreError>) -> Result<(), OpsError> {
    match result {
        Err(StoreError::Changed { .. } | StoreError::Gone { .. }) | Ok(()) => Ok(()),
        Err(fault) => Err(fault.into()),
    }
}
