//! What a crash left is finished, under the lock, by the next command that writes.
//!
//! `.aof/intent` says where to look; only comparing the files with HEAD says what to do. A file ahead of HEAD is committed only
//! if the engine itself would have made it out of HEAD's task (`Standing` judges that); anything else is left for its task to
//! be frozen and shown. Git's locks are removed only if they are the recorded ones.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Instant;

use tracing::info;

use super::error::OpsError;
use super::in_force::in_force;
use super::standing::{Pending, Standing, Version};
use super::sync;
use super::transaction::{Choice, Write, commit, plan};
use super::workspace::Workspace;
use crate::audit::{AuditError, BranchLock, CommitId, Files, Head, Locks, LogEntry, ObjectId};
use crate::model::Digest;
use crate::store::intent::{self, Intent, Pending as Record, Write as Intended};
use crate::store::layout::is_archived;
use crate::store::tasks::{self, Place};
use crate::store::{ProjectPath, StoreError, WriterLock, atomic};

/// Heals if there is a record of an unfinished write. A write that is under way is waited for.
pub(super) fn heal_if_pending(workspace: &Workspace) -> Result<bool, OpsError> {
    if !intent::is_pending(&workspace.paths) {
        return Ok(false);
    }
    let lock = workspace.lock()?;
    heal(workspace, &lock)
}

/// Finishes what a crash left. Returns whether there was anything.
pub(super) fn heal(workspace: &Workspace, lock: &WriterLock) -> Result<bool, OpsError> {
    let record = match intent::read(lock)? {
        Record::Nothing => return Ok(false),
        Record::Unreadable { .. } => {
            atomic::sweep_tasks(lock)?;
            intent::clear(lock)?;
            return Ok(true);
        }
        Record::Intent(record) => record,
    };
    info!(pid = record.pid, "finishing what a crash left");
    let locks: Option<Locks> = record.locks.clone().and_then(|value| serde_json::from_value(value).ok());
    let landed = match &locks {
        Some(locks) => workspace.repository.clear_stale(locks)?.landed,
        None => false,
    };
    workspace.repository.sweep_temps()?;
    unless_general(atomic::sweep_local(lock, workspace.clock()().into()).map(drop).map_err(OpsError::from))?;
    if record.writes.is_empty() {
        // Only a sync writes down no files: git itself changed them. Before the first of them, whatever there is now is somebody's.
        match locks {
            Some(Locks { branch: Some(branch), files: Files::Coming, .. }) => sync::finish(workspace, lock, &branch)?,
            _ => intent::clear(lock)?,
        }
        return Ok(true);
    }
    // A commit that never got onto the branch may have been collected by git: then the files alone tell.
    let is_there = |branch: &BranchLock| landed || workspace.repository.log_entry(branch.to).is_ok();
    let branch = locks.and_then(|locks| locks.branch).filter(is_there);
    unless_general(sweep_folders(lock, &record))?;
    if let Some(branch) = &branch {
        let left = if landed { branch.from } else { Some(branch.to) };
        settle_index(workspace, lock, &record, branch, left)?;
    }
    for write in &record.writes {
        if !write.made.is_empty() && !is_committed(workspace, write)? {
            undo_beginning(workspace, lock, write)?;
            continue;
        }
        let settled = settle_companions(workspace, lock, write)
            .and_then(|()| settle_move(workspace, lock, branch.as_ref(), write));
        unless_general(settled)?;
    }
    commit_what_is_ahead(workspace, lock, &record, branch.as_ref())?;
    intent::clear(lock)?;
    Ok(true)
}

/// One task's trouble is shown when somebody asks for the task, and keeps none of the others waiting.
fn unless_general(result: Result<(), OpsError>) -> Result<(), OpsError> {
    match result {
        Err(error) if error.is_general() => Err(error),
        _ => Ok(()),
    }
}

fn sweep_folders(lock: &WriterLock, record: &Intent) -> Result<(), OpsError> {
    let paths = record.writes.iter().flat_map(|write| {
        let made = write.made.iter().map(|made| &made.path);
        write.old.iter().chain([&write.new]).chain(made)
    });
    let folders: BTreeSet<&str> = paths.map(ProjectPath::folder).collect();
    for folder in folders {
        atomic::sweep(lock, folder)?;
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
) -> Result<(), OpsError> {
    let files = record.writes.iter().flat_map(|write| {
        let companions = write.companions.iter().flat_map(|(old, new)| [old, new]);
        let made = write.made.iter().map(|made| &made.path);
        write.old.iter().chain([&write.new]).chain(companions).chain(made)
    });
    let files: BTreeSet<&str> = files.map(ProjectPath::as_str).collect();
    let files: Vec<&str> = files.into_iter().collect();
    let deadline = Instant::now().max(workspace.deadline());
    workspace.repository.settle_index(left, &files, deadline, &mut |locks| {
        let locks = Locks { branch: Some(branch.clone()), ..locks.clone() };
        let record = Intent { locks: serde_json::to_value(locks).ok(), ..record.clone() };
        let waiting = intent::write(lock, &record).and_then(|written| written.unsynced(lock));
        waiting.map(Vec::from_iter).map_err(std::io::Error::other)
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

/// They are all committed at once, so one of them tells: HEAD has it, and not as it was before.
fn is_committed(workspace: &Workspace, write: &Intended) -> Result<bool, OpsError> {
    let before = write.made.iter().find(|made| made.path == write.new).and_then(|made| made.before.as_ref());
    let committed = committed(workspace, &write.new)?.map(|bytes| Digest::of(&bytes));
    Ok(committed.as_ref() != before)
}

/// A project whose first commit was not made has not begun, and a file of rules that was not committed is not there: what was
/// written of it goes, unless somebody changed it since. One that was there before says again what it said.
fn undo_beginning(workspace: &Workspace, lock: &WriterLock, write: &Intended) -> Result<(), OpsError> {
    for made in &write.made {
        let Some(bytes) = read(workspace, &made.path)?.filter(|bytes| Digest::of(bytes) == made.sha256) else {
            continue;
        };
        let before = match &made.before {
            Some(before) => committed(workspace, &made.path)?.filter(|bytes| Digest::of(bytes) == *before),
            None => None,
        };
        match (&made.before, before) {
            (None, _) => atomic::remove_if(lock, &made.path, &bytes)?,
            (Some(_), Some(before)) => atomic::replace_if(lock, &made.path, &bytes, &before)?,
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
        && repository.blob_id(branch.to, write.new.as_str())? == Some(repository.hash_blob(&there))
    {
        // Nor does the old place say what HEAD does: a person's edit was to be committed first. That stays, and the move, which
        // nobody was told of, is undone.
        atomic::remove_if(lock, &write.new, &there)?;
    }
    Ok(())
}

/// All of it in one go: the record is replaced by that commit's own, so a kill in it is healed like the first.
fn commit_what_is_ahead(
    workspace: &Workspace,
    lock: &WriterLock,
    record: &Intent,
    branch: Option<&BranchLock>,
) -> Result<(), OpsError> {
    loop {
        let head = workspace.head()?;
        let ahead = ahead_of(workspace, &head, record, branch)?;
        if ahead.is_empty() {
            return Ok(());
        }
        match commit(workspace, lock, &head, &ahead) {
            Ok(_) => return Ok(()),
            // A person committed meanwhile.
            Err(OpsError::Audit(AuditError::Moved { .. })) if Instant::now() < workspace.deadline() => {}
            Err(error) if error.is_general() => {
                intent::write(lock, record)?.sync(lock)?;
                return Err(error);
            }
            Err(_) => return commit_one_by_one(workspace, lock, record, branch),
        }
    }
}

/// One task's trouble is shown when somebody asks for it, and keeps none of the others.
fn commit_one_by_one(
    workspace: &Workspace,
    lock: &WriterLock,
    record: &Intent,
    branch: Option<&BranchLock>,
) -> Result<(), OpsError> {
    for write in &record.writes {
        let head = workspace.head()?;
        let alone = Intent { writes: vec![write.clone()], ..record.clone() };
        let ahead = ahead_of(workspace, &head, &alone, branch)?;
        match commit(workspace, lock, &head, &ahead) {
            Err(error) if error.is_general() => {
                intent::write(lock, record)?.sync(lock)?;
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns those of the record's files that are ahead of HEAD by what the engine itself would have written.
fn ahead_of(
    workspace: &Workspace,
    head: &Head,
    record: &Intent,
    branch: Option<&BranchLock>,
) -> Result<Vec<Write>, OpsError> {
    let in_force = Rc::new(in_force(workspace, head)?);
    let mut ahead = Vec::new();
    for intended in &record.writes {
        let Some(id) = &intended.task else { continue };
        let standing = match Standing::read_under(workspace, id, head.clone(), Rc::clone(&in_force)) {
            Ok(standing) => standing,
            // The task's own trouble is shown when somebody asks for the task.
            Err(OpsError::UnreadableTask { .. } | OpsError::NoTask { .. } | OpsError::Store(_)) => continue,
            Err(error) => return Err(error),
        };
        let Pending::Versions(versions) = &standing.pending else { continue };
        let misplaced = standing.place == Place::Active && is_archived(&standing.snapshot.path);
        let plan = match plan(workspace, &standing, Choice::Pending) {
            Ok(plan) => plan,
            Err(error) if error.is_general() => return Err(error),
            Err(_) => continue,
        };
        if let Some(mut write) = plan.write.filter(|_| !misplaced) {
            if let Some(branch) = branch {
                let mut first = prepared(workspace, branch, &standing, intended)?;
                first.truncate(first.len().saturating_sub(versions.len()));
                write.versions.splice(0..0, first);
            }
            ahead.push(write);
        }
    }
    Ok(ahead)
}

/// Returns the versions that were to be committed, oldest first, if the file has the last of them. They tell what the file alone
/// cannot: what of it a person's edit was, which goes in as theirs and not as part of the act that was killed with it.
fn prepared(
    workspace: &Workspace,
    branch: &BranchLock,
    standing: &Standing,
    intended: &Intended,
) -> Result<Vec<Version>, OpsError> {
    let repository = &workspace.repository;
    // The last of them may be what moves the file.
    let blob_in = |commit: CommitId| -> Result<Option<ObjectId>, OpsError> {
        for path in intended.old.iter().chain([&intended.new]) {
            if let Some(blob) = repository.blob_id(commit, path.as_str())? {
                return Ok(Some(blob));
            }
        }
        Ok(None)
    };
    if blob_in(branch.to)? != Some(repository.hash_blob(&standing.snapshot.bytes)) {
        return Ok(Vec::new());
    }
    let head = standing.head.commit.map(blob_in).transpose()?.flatten();
    let mut versions = Vec::new();
    let mut later = None;
    for entry in repository.log(branch.to)? {
        let LogEntry { id, message, author, authored, .. } = entry?;
        let blob = blob_in(id)?;
        if Some(id) == branch.from || blob == head {
            break;
        }
        if blob.is_some() && blob == later {
            // The commit above did not make this version: this one may have, or one below it.
            versions.pop();
        }
        if let Some(other) = blob {
            versions.push(Version { bytes: repository.read_blob(other)?, message, author: Some(author), authored });
        }
        later = blob;
    }
    versions.reverse();
    Ok(versions)
}

fn read(workspace: &Workspace, path: &ProjectPath) -> Result<Option<Vec<u8>>, OpsError> {
    match tasks::read(&workspace.paths, path) {
        Ok(snapshot) => Ok(Some(snapshot.bytes)),
        Err(StoreError::Gone { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
