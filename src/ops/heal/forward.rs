//! Files that a power cut left as they were, although the branch has moved: they become what it says.
//!
//! The folders of the files and of the branch are synced side by side when all have their names, so any of the names may be on the
//! disk without the others. A kill alone never leaves that: the files get their names first. Only a file that is exactly what it
//! was before counts as left behind, or one that is missing where nobody can have removed it: whatever else stands there is
//! somebody's.

use crate::audit::BranchLock;
use crate::model::Digest;
use crate::ops::error::OpsError;
use crate::ops::workspace::Workspace;
use crate::store::intent::Write as Intended;
use crate::store::{ProjectPath, WriterLock, atomic};

use super::read;

/// Puts the files of this write in their places that the branch, which has moved, says are there.
pub(super) fn bring_forward(
    workspace: &Workspace,
    lock: &WriterLock,
    branch: &BranchLock,
    write: &Intended,
) -> Result<(), OpsError> {
    let read_at = |path| read(workspace, path);
    let wanted_at = |path: &ProjectPath| workspace.repository.read(branch.to, path.as_str());
    if write.task.is_some()
        && let Some(wanted) = wanted_at(&write.new)?
    {
        match (&write.old, read_at(&write.new)?) {
            (Some(old), Some(here)) if old.path == write.new && Digest::of(&here) == old.sha256 => {
                atomic::replace_if(lock, &write.new, &here, &wanted)?;
            }
            (None, None) => atomic::create_new(lock, &write.new, &wanted)?,
            (Some(old), None)
                if old.path != write.new
                    && read_at(&old.path)?.is_some_and(|there| Digest::of(&there) == old.sha256) =>
            {
                atomic::create_new(lock, &write.new, &wanted)?;
            }
            _ => {}
        }
    }
    for (old, new) in &write.companions {
        let Some(wanted) = wanted_at(new)? else { continue };
        if read_at(new)?.is_none() && read_at(old)?.as_ref() == Some(&wanted) {
            atomic::create_new(lock, new, &wanted)?;
        }
    }
    for made in &write.made {
        let Some(wanted) = wanted_at(&made.path)? else { continue };
        let here = read_at(&made.path)?;
        if here.as_deref().map(Digest::of) != made.before {
            continue;
        }
        match here {
            Some(here) => atomic::replace_if(lock, &made.path, &here, &wanted)?,
            None => atomic::create_new(lock, &made.path, &wanted)?,
        }
    }
    Ok(())
}
