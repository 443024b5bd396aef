//! What a crash left is finished, under the lock, by the next command that writes.
//!
//! `.aof/intent` says where to look; only comparing the files with HEAD says what to do. A file ahead of HEAD is committed only
//! if the engine itself would have made it out of HEAD's task (`Standing` judges that); anything else is left for its task to
//! be frozen and shown. Git's locks are removed only if they are the recorded ones.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Instant;

use super::error::OpsError;
use super::in_force::in_force;
use super::standing::{Pending, Standing};
use super::transaction::{Choice, commit, plan};
use super::workspace::Workspace;
use crate::audit::{BranchLock, CommitId, Locks};
use crate::model::Digest;
use crate::store::intent::{self, Intent, Pending as Record, Write as Intended};
use crate::store::layout::is_archived;
use crate::store::tasks::{self, Place};
use crate::store::{ProjectPath, StoreError, WriterLock, atomic};

/// Heals if there is a record of an unfinished write. A write that is under way is waited for.
pub(super) fn heal_if_pending(workspace: &Workspace) -> Result<bool, OpsError> {
    if !workspace.paths.intent().exists() {
        return Ok(false);
    }
    let lock = workspace.lock()?;
    heal(workspace, &lock)
}

/// Finishes what a crash left. Returns whether there was anything.
pub(super) fn heal(workspace: &Workspace, lock: &WriterLock) -> Result<bool, OpsError> {
    let record = match intent::read(&workspace.paths)? {
        Record::Nothing => return Ok(false),
        Record::Unreadable { .. } => {
            atomic::sweep_tasks(lock)?;
            intent::clear(lock)?;
            return Ok(true);
        }
        Record::Intent(record) => record,
    };
    let locks: Option<Locks> = record.locks.clone().and_then(|value| serde_json::from_value(value).ok());
    let landed = match &locks {
        Some(locks) => workspace.repository.clear_stale(locks)?.landed,
        None => false,
    };
    workspace.repository.sweep_temps()?;
    let branch = locks.and_then(|locks| locks.branch);
    for write in &record.writes {
        sweep_folders(lock, write)?;
        if let Some(branch) = &branch {
            let left = if landed { branch.from } else { Some(branch.to) };
            settle_index(workspace, lock, &record, branch, left, write)?;
        }
        if !write.made.is_empty() && !is_committed(workspace, write)? {
            undo_beginning(workspace, lock, write)?;
            continue;
        }
        settle_companions(workspace, lock, write)?;
        settle_move(workspace, lock, branch.as_ref(), write)?;
        commit_what_is_ahead(workspace, lock, write)?;
    }
    intent::clear(lock)?;
    Ok(true)
}

fn sweep_folders(lock: &WriterLock, write: &Intended) -> Result<(), OpsError> {
    for path in write.old.iter().chain([&write.new]) {
        atomic::sweep(lock, path.folder())?;
    }
    Ok(())
}

/// Entries of git's index that are still what `left` has are brought to what HEAD has. The index moves before the branch, so a
/// kill in between leaves it at the commit that was to come; a power cut may leave it at the one before: either way the next
/// `git commit` of a person would say what nobody meant. The record goes on saying where the branch was to move, because a kill
/// in here must be healed as well.
fn settle_index(
    workspace: &Workspace,
    lock: &WriterLock,
    record: &Intent,
    branch: &BranchLock,
    left: Option<CommitId>,
    write: &Intended,
) -> Result<(), OpsError> {
    let companions = write.companions.iter().flat_map(|(old, new)| [old, new]);
    let made = write.made.iter().map(|made| &made.path);
    let files: BTreeSet<&str> =
        write.old.iter().chain([&write.new]).chain(companions).chain(made).map(ProjectPath::as_str).collect();
    let files: Vec<&str> = files.into_iter().collect();
    let deadline = Instant::now().max(workspace.deadline());
    workspace.repository.settle_index(left, &files, deadline, &mut |locks| {
        let locks = Locks { branch: Some(branch.clone()), ..locks.clone() };
        let record = Intent { locks: serde_json::to_value(locks).ok(), ..record.clone() };
        intent::write(lock, &record).map_err(std::io::Error::other)
    })?;
    Ok(())
}

/// Companions are copied before the branch moves and removed after it, so one may stand at both places.
fn settle_companions(workspace: &Workspace, lock: &WriterLock, write: &Intended) -> Result<(), OpsError> {
    let Some(commit) = workspace.head()?.commit else { return Ok(()) };
    let landed = workspace.repository.blob_id(commit, write.new.as_str())?.is_some();
    for (old, new) in &write.companions {
        let (Some(here), Some(there)) = (read(workspace, old)?, read(workspace, new)?) else { continue };
        if here == there {
            atomic::remove_if(lock, if landed { old } else { new }, &here)?;
        }
    }
    Ok(())
}

fn is_committed(workspace: &Workspace, write: &Intended) -> Result<bool, OpsError> {
    let Some(commit) = workspace.head()?.commit else { return Ok(false) };
    Ok(workspace.repository.blob_id(commit, write.new.as_str())?.is_some())
}

/// A project whose first commit was not made has not begun: what was written of it goes, unless somebody changed it since.
fn undo_beginning(workspace: &Workspace, lock: &WriterLock, write: &Intended) -> Result<(), OpsError> {
    for made in &write.made {
        if let Some(bytes) = read(workspace, &made.path)?.filter(|bytes| Digest::of(bytes) == made.sha256) {
            atomic::remove_if(lock, &made.path, &bytes)?;
        }
    }
    Ok(())
}

/// A task that was on its way to another place may stand at both.
fn settle_move(
    workspace: &Workspace,
    lock: &WriterLock,
    branch: Option<&BranchLock>,
    write: &Intended,
) -> Result<(), OpsError> {
    let Some(old) = write.old.as_ref().filter(|old| **old != write.new) else { return Ok(()) };
    let (Some(here), Some(there)) = (read(workspace, old)?, read(workspace, &write.new)?) else { return Ok(()) };
    let head = workspace.head()?;
    let Some(commit) = head.commit else { return Ok(()) };
    let repository = &workspace.repository;
    let landed = repository.blob_id(commit, write.new.as_str())?.is_some();
    if landed {
        // The move is committed; what is left at the old place goes if it is what was moved.
        let moved = repository.has_had(commit, old.as_str(), repository.hash_blob(&here))?;
        if moved && repository.blob_id(commit, old.as_str())?.is_none() {
            atomic::remove_if(lock, old, &here)?;
        }
    } else if repository.blob_id(commit, old.as_str())? == Some(repository.hash_blob(&here)) {
        // It is not: the new version goes to the old place, where it is judged like any file ahead of HEAD.
        atomic::replace_if(lock, old, &here, &there)?;
        atomic::remove_if(lock, &write.new, &there)?;
    } else if let Some(branch) = branch
        && repository.blob_id(branch.to, write.new.as_str()).ok().flatten() == Some(repository.hash_blob(&there))
    {
        // Nor does the old place say what HEAD does: a person's edit was to be committed first. That stays, and the move, which
        // nobody was told of, is undone.
        atomic::remove_if(lock, &write.new, &there)?;
    }
    Ok(())
}

fn commit_what_is_ahead(workspace: &Workspace, lock: &WriterLock, write: &Intended) -> Result<(), OpsError> {
    let head = workspace.head()?;
    let in_force = Rc::new(in_force(&workspace.repository, &head)?);
    let standing = match Standing::read_under(workspace, &write.task, head, in_force) {
        Ok(standing) => standing,
        // The task's own trouble is shown when somebody asks for the task.
        Err(OpsError::UnreadableTask { .. } | OpsError::NoTask { .. } | OpsError::Store(_)) => return Ok(()),
        Err(error) => return Err(error),
    };
    let Pending::Version(_) = &standing.pending else { return Ok(()) };
    let misplaced = standing.place == Place::Active && is_archived(&standing.snapshot.path);
    let plan = plan(workspace, &standing, Choice::Pending)?;
    if let Some(write) = plan.write.filter(|_| !misplaced) {
        commit(workspace, lock, &standing.head, &[write])?;
    }
    Ok(())
}

fn read(workspace: &Workspace, path: &ProjectPath) -> Result<Option<Vec<u8>>, OpsError> {
    match tasks::read(&workspace.paths, path) {
        Ok(snapshot) => Ok(Some(snapshot.bytes)),
        Err(StoreError::Gone { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
