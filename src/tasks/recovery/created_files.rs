//! Files of a project's beginning and of its rules, killed on their way: committed all at once, or not there at all.

use crate::domain::Digest;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::journal::IntendedWrite as Intended;
use crate::storage::tasks::atomic_write;
use crate::storage::{ProjectPath, WriterLock};
use crate::tasks::recovery::pending::read;

/// They are all committed at once, so one of them tells: HEAD has it, and not as it was before.
pub(crate) fn is_committed(workspace: &Workspace, write: &Intended) -> Result<bool, OpsError> {
    let before =
        write.made.iter().find(|made| made.path == write.new).and_then(|made| made.before.as_ref());
    Ok(match (committed(workspace, &write.new)?, before) {
        (Some(committed), Some(before)) => Digest::of(&committed) != *before,
        (committed, before) => committed.is_some() || before.is_some(),
    })
}

/// A project whose first commit was not made has not begun, and a file of rules that was not committed is not there: what was
/// written of it goes, unless somebody changed it since. One that was there before says again what it said.
pub(crate) fn undo_beginning(
    workspace: &Workspace,
    lock: &WriterLock,
    write: &Intended,
) -> Result<(), OpsError> {
    for made in &write.made {
        let Some(bytes) =
            read(workspace, &made.path)?.filter(|bytes| Digest::of(bytes) == made.sha256)
        else {
            continue;
        };
        let before = match &made.before {
            Some(before) => {
                committed(workspace, &made.path)?.filter(|bytes| Digest::of(bytes) == *before)
            }
            None => None,
        };
        match (&made.before, before) {
            (None, _) => atomic_write::remove_if(lock, &made.path, &bytes)?,
            (Some(_), Some(before)) => atomic_write::replace_if(lock, &made.path, &bytes, &before)?,
            // Somebody committed something else since: what there was before is theirs to look for.
            (Some(_), None) => {}
        }
    }
    Ok(())
}

fn committed(workspace: &Workspace, path: &ProjectPath) -> Result<Option<Vec<u8>>, OpsError> {
    let Some(commit) = workspace.head()?.commit else { return Ok(None) };
    Ok(workspace.repository.read(commit, path.as_str())?)
}
