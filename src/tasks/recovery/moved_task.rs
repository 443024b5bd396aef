//! A task that was killed on its way to another place, with the files that go with it: it ends up at one of the two, as HEAD says.

use crate::domain::Digest;
use crate::git::Head;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::journal::IntendedWrite as Intended;
use crate::storage::tasks::atomic_write;
use crate::storage::tasks::task_files;
use crate::storage::{StoreError, WriterLock};
use crate::tasks::recovery::pending::Left;
use crate::tasks::recovery::pending::read;
use crate::tasks::recovery::roll_back::tell_undone;

/// Companions are copied before the branch moves and removed after it, so one may stand at both places. What has not the bytes that
/// were copied is somebody's.
pub(crate) fn settle_companions(
    workspace: &Workspace,
    lock: &WriterLock,
    write: &Intended,
) -> Result<(), OpsError> {
    let Some(commit) = workspace.head()?.commit else { return Ok(()) };
    let repository = &workspace.repository;
    let landed = repository.blob_id(commit, write.new.as_str())?.is_some();
    for file in &write.companions {
        let copied = |bytes: &Vec<u8>| Digest::of(bytes) == file.sha256;
        let (here, there) = (read(workspace, &file.from)?, read(workspace, &file.to)?);
        if landed {
            let is_there =
                there.is_some() || repository.blob_id(commit, file.to.as_str())?.is_some();
            if let Some(here) = here.filter(copied).filter(|_| is_there) {
                atomic_write::remove_if(lock, &file.from, &here)?;
            }
        } else if let Some(there) = there.filter(copied) {
            let committed = repository.blob_id(commit, file.from.as_str())?;
            // Where it is the only one left it stays.
            if here.is_some() || committed.is_some_and(|blob| repository.is_same_text(&there, blob))
            {
                atomic_write::remove_if(lock, &file.to, &there)?;
            }
        }
    }
    Ok(())
}

/// A task that was on its way to another place may stand at both.
pub(crate) fn settle_move(
    workspace: &Workspace,
    lock: &WriterLock,
    write: &Intended,
) -> Result<(), OpsError> {
    let old = write.old.as_ref().map(|old| &old.path).filter(|old| **old != write.new);
    let Some(old) = old else { return Ok(()) };
    let Some(there) = read(workspace, &write.new)? else { return Ok(()) };
    let Some(commit) = workspace.head()?.commit else { return Ok(()) };
    let repository = &workspace.repository;
    let landed = repository.blob_id(commit, write.new.as_str())?.is_some();
    if !landed && Digest::of(&there) != write.sha256 {
        // It was in the way, or has been changed since: it is somebody's.
        return Ok(());
    }
    let Some(here) = read(workspace, old)? else {
        if !landed && is_elsewhere(workspace, write)? {
            // A person has moved the old one meanwhile, so it is that one that counts.
            atomic_write::remove_if(lock, &write.new, &there)?;
        }
        return Ok(());
    };
    if landed {
        // The move is committed; what is left at the old place goes if it is what was moved.
        let moved = repository.has_had_text(commit, old.as_str(), &here)?;
        if moved && repository.blob_id(commit, old.as_str())?.is_none() {
            atomic_write::remove_if(lock, old, &here)?;
        }
    } else if repository
        .blob_id(commit, old.as_str())?
        .is_some_and(|blob| repository.is_same_text(&here, blob))
    {
        // It is not: the new version goes to the old place, where it is judged like any file ahead of HEAD.
        atomic_write::replace_if(lock, old, &here, &there)?;
        atomic_write::remove_if(lock, &write.new, &there)?;
    } else {
        // Nor does the old place say what HEAD does: a person's edit was to be committed first. That stays, and the move, which
        // nobody was told of, is undone.
        atomic_write::remove_if(lock, &write.new, &there)?;
    }
    Ok(())
}

/// Takes away what stands at the new place, for a move that is not to be finished. Where it is the only one left it stays for now.
pub(crate) fn undo_move(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    left: Left<'_>,
    write: &Intended,
) -> Result<(), OpsError> {
    let Some(old) = write.old.as_ref().map(|old| &old.path).filter(|old| **old != write.new) else {
        return Ok(());
    };
    let there = read(workspace, &write.new)?.filter(|there| Digest::of(there) == write.sha256);
    if let Some(there) = there
        && read(workspace, old)?.is_some()
    {
        atomic_write::remove_if(lock, &write.new, &there)?;
        tell_undone(workspace, head, left, write);
    }
    Ok(())
}

/// Says whether the task stands at a place that is neither of the two.
fn is_elsewhere(workspace: &Workspace, write: &Intended) -> Result<bool, OpsError> {
    let Some(id) = &write.task else { return Ok(false) };
    match task_files::find(&workspace.paths, id) {
        Ok(found) => Ok(found.path != write.new),
        Err(StoreError::TaskDoubled { .. } | StoreError::Gone { .. }) => Ok(false),
        Err(fault) => Err(fault.into()),
    }
}
