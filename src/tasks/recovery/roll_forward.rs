//! Files that a power cut left as they were, although the branch has moved: they become what it says.
//!
//! The folders of the files and of the branch are synced side by side when all have their names, so any of the names may be on the
//! disk without the others. A kill alone never leaves that: the files get their names first. Only a file that is exactly what it
//! was before counts as left behind, or a new one that is missing, and only as long as the branch says of it what it was moved for:
//! whatever else stands there is somebody's.

use crate::domain::Digest;
use crate::git::{BranchLock, Head};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::journal::IntendedWrite as Intended;
use crate::storage::tasks::atomic_write;
use crate::storage::{ProjectPath, WriterLock};

use crate::tasks::recovery::pending::read;

/// Puts the files of this write in their places that the branch, which has moved, says are there.
pub(crate) fn bring_forward(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    branch: &BranchLock,
    write: &Intended,
) -> Result<(), OpsError> {
    let repository = &workspace.repository;
    let read_at = |path| read(workspace, path);
    let wanted_at = |path: &ProjectPath| -> Result<Option<Vec<u8>>, OpsError> {
        let Some(wanted) = repository.blob_id(branch.to, path.as_str())? else { return Ok(None) };
        let now = head
            .commit
            .map(|commit| repository.blob_id(commit, path.as_str()))
            .transpose()?
            .flatten();
        if now != Some(wanted) {
            return Ok(None);
        }
        Ok(Some(repository.read_blob(wanted)?))
    };
    if write.task.is_some()
        && let Some(wanted) = wanted_at(&write.new)?
    {
        match (&write.old, read_at(&write.new)?) {
            (Some(old), Some(here)) if old.path == write.new && Digest::of(&here) == old.sha256 => {
                atomic_write::replace_if(lock, &write.new, &here, &wanted)?;
            }
            (None, None) => atomic_write::create_new(lock, &write.new, &wanted)?,
            (Some(old), None) if old.path != write.new => {
                // The new version stands at the old place where its move was being finished.
                let is_ours =
                    |there: &Vec<u8>| [&old.sha256, &write.sha256].contains(&&Digest::of(there));
                if read_at(&old.path)?.is_some_and(|there| is_ours(&there)) {
                    atomic_write::create_new(lock, &write.new, &wanted)?;
                }
            }
            _ => {}
        }
    }
    for file in &write.companions {
        if wanted_at(&file.to)?.is_some()
            && read_at(&file.to)?.is_none()
            && let Some(there) =
                read_at(&file.from)?.filter(|there| Digest::of(there) == file.sha256)
        {
            atomic_write::create_new(lock, &file.to, &there)?;
        }
    }
    for made in &write.made {
        let Some(wanted) = wanted_at(&made.path)? else { continue };
        let here = read_at(&made.path)?;
        if here.as_deref().map(Digest::of) != made.before {
            continue;
        }
        match here {
            Some(here) => atomic_write::replace_if(lock, &made.path, &here, &wanted)?,
            None => atomic_write::create_new(lock, &made.path, &wanted)?,
        }
    }
    Ok(())
}
