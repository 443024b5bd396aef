//! What a command wrote that is not to count goes back to what was there before, as long as it is exactly that.

use tracing::info;

use crate::domain::{Digest, TaskId};
use crate::git::{BranchLock, Head};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::journal::{IntendedWrite, RecoveryAim};
use crate::storage::tasks::atomic_write;
use crate::storage::{StoreError, WriterLock};
use crate::system::shell::quoted;
use crate::tasks::recovery::file_states::before;
use crate::tasks::recovery::pending::Left;
use crate::tasks::recovery::pending::read;
use crate::tasks::recovery::table::Stand;

/// Puts the task's file back: what was there before stands at its old place again, and nothing of the new version at either. What
/// somebody changes meanwhile stays.
pub(crate) fn put_back(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    branch: Option<&BranchLock>,
    write: &IntendedWrite,
) -> Result<(), OpsError> {
    let meant = |path| -> Result<Option<Vec<u8>>, OpsError> {
        Ok(read(workspace, path)?.filter(|bytes| Digest::of(bytes) == write.sha256))
    };
    if let Some(old) = &write.old {
        let Some(before) = before(workspace, head, branch, old)? else { return Ok(()) };
        if let Some(here) = meant(&old.path)?.filter(|here| *here != before) {
            unless_changed(atomic_write::replace_if(lock, &old.path, &here, &before))?;
        } else if old.path != write.new
            && read(workspace, &old.path)?.is_none()
            && meant(&write.new)?.is_some()
        {
            // Only the new one is left of it.
            atomic_write::create_new(lock, &old.path, &before)?;
        }
        if old.path == write.new {
            return Ok(());
        }
    }
    if let Some(there) = meant(&write.new)? {
        unless_changed(atomic_write::remove_if(lock, &write.new, &there))?;
    }
    Ok(())
}

fn unless_changed(result: Result<(), StoreError>) -> Result<(), OpsError> {
    match result {
        Err(StoreError::Changed { .. } | StoreError::Gone { .. }) | Ok(()) => Ok(()),
        Err(fault) => Err(fault.into()),
    }
}

/// Nobody else says so where a command was stopped: whoever ran it is gone.
pub(crate) fn tell_undone(
    workspace: &Workspace,
    head: &Head,
    left: Left<'_>,
    write: &IntendedWrite,
) {
    if left.record.aim == RecoveryAim::Undo {
        info!(task = task(write), "what a command failed in is taken back");
        return;
    }
    let why = match left.stand(head) {
        Stand::Own => "does not go with the rules any more that are in force now".to_owned(),
        Stand::Another => format!("was for {}", own_branch(left)),
    };
    workspace
        .warn(format!("what a command was stopped in {why}: {} is as it was before", task(write)));
}

/// It is not committed here, and nobody can take it back without what somebody else did.
pub(crate) fn tell_left(workspace: &Workspace, head: &Head, left: Left<'_>, write: &IntendedWrite) {
    let id = task(write);
    let path = write.old.as_ref().map_or(&write.new, |old| &old.path).as_str();
    let what = match left.record.aim {
        RecoveryAim::Finish => {
            format!("what a command was stopped in was for {}", own_branch(left))
        }
        RecoveryAim::Undo => "what a command failed in was to be taken back".to_owned(),
    };
    let is_in_head = head
        .commit
        .is_some_and(|commit| matches!(workspace.repository.blob_id(commit, path), Ok(Some(_))));
    let (why, way_back) = if is_in_head {
        let way_back = format!(
            "; `git restore --source=HEAD --staged --worktree {}` takes all of it back",
            quoted(path)
        );
        (format!("the file of {id} has been changed since"), way_back)
    } else {
        (format!("what the file of {id} said before is in no commit"), String::new())
    };
    workspace.warn(format!(
        "{what}, and {why}, so it stays, and the next change of {id} commits it{way_back}"
    ));
}

fn own_branch(left: Left<'_>) -> String {
    let name =
        left.reference.map(|reference| reference.strip_prefix("refs/heads/").unwrap_or(reference));
    name.map_or_else(|| "another branch".to_owned(), |name| format!("`{name}`"))
}

fn task(write: &IntendedWrite) -> &str {
    write.task.as_ref().map_or(write.new.as_str(), TaskId::as_str)
}
