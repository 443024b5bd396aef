//! What a crash left is finished, under the lock, by the next command that writes.
//!
//! `.aof/intent` says where to look; only comparing the files with HEAD says what to do. A file ahead of HEAD is committed only
//! if the engine itself would have made it out of HEAD's task (`Standing` judges that); anything else is left for its task to
//! be frozen and shown. Git's locks are removed only if they are the recorded ones.

use std::rc::Rc;

use super::error::OpsError;
use super::in_force::in_force;
use super::standing::{Pending, Standing};
use super::transaction::{Choice, commit, plan};
use super::workspace::Workspace;
use crate::audit::{CommitId, Locks};
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
    if let Some(locks) = &locks {
        workspace.repository.clear_stale(locks)?;
    }
    workspace.repository.sweep_temps()?;
    let before = locks.as_ref().and_then(|locks| locks.branch.as_ref()).and_then(|branch| branch.from);
    for write in &record.writes {
        sweep_folders(lock, write)?;
        settle_index(workspace, lock, &record, locks.as_ref(), write)?;
        settle_move(workspace, lock, before, write)?;
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

/// After a power cut the branch may have moved without the index: then the next `git commit` of a person would take the change back.
fn settle_index(
    workspace: &Workspace,
    lock: &WriterLock,
    record: &Intent,
    locks: Option<&Locks>,
    write: &Intended,
) -> Result<(), OpsError> {
    let mut files = vec![write.new.as_str()];
    files.extend(write.old.as_ref().filter(|old| **old != write.new).map(ProjectPath::as_str));
    let branch = locks.and_then(|locks| locks.branch.clone());
    let before = branch.as_ref().and_then(|branch| branch.from);
    workspace.repository.settle_index(before, &files, workspace.deadline(), &mut |taken| {
        // Healing may be stopped too: the record names the lock that is taken now beside the branch that was moved then.
        let locks = Locks { index: taken.index.clone(), branch: branch.clone() };
        let record = Intent { locks: serde_json::to_value(locks).ok(), ..record.clone() };
        intent::write(lock, &record).map_err(std::io::Error::other)
    })?;
    Ok(())
}

/// A task that was on its way to another place may stand at both.
fn settle_move(
    workspace: &Workspace,
    lock: &WriterLock,
    before: Option<CommitId>,
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
        let moved = before.map(|before| repository.blob_id(before, old.as_str())).transpose()?.flatten();
        if repository.blob_id(commit, old.as_str())?.is_none() && moved == Some(repository.hash_blob(&here)) {
            atomic::remove_if(lock, old, &here)?;
        }
    } else if repository.blob_id(commit, old.as_str())? == Some(repository.hash_blob(&here)) {
        // It is not: the new version goes to the old place, where it is judged like any file ahead of HEAD.
        atomic::replace_if(lock, old, &here, &there)?;
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
