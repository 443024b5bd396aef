//! Files that are ahead of HEAD: committed if they are what the engine itself would have made of HEAD's task, put back if they are what a
//! command wrote for rules that are not in force any more, or for another branch.

use std::rc::Rc;
use std::time::Instant;

use crate::domain::Digest;
use crate::git::{BranchLock, CommitId, GitError, Head, LogEntry, ObjectId};
use crate::project::active_rules::in_force;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::WriterLock;
use crate::storage::journal;
use crate::storage::journal::{IntendedWrite, JournalRecord, RecoveryAim};
use crate::storage::layout::is_archived;
use crate::storage::tasks::task_files::TaskPlace;
use crate::tasks::plan::choice::{Choice, plan};
use crate::tasks::plan::write::Write;
use crate::tasks::publish::commit::publish;
use crate::tasks::recovery::file_states;
use crate::tasks::recovery::pending::Left;
use crate::tasks::recovery::pending::tell_unfinished;
use crate::tasks::recovery::roll_back::{put_back, tell_left, tell_undone};
use crate::tasks::recovery::table::{Step, step};
use crate::tasks::state::task_state::{Pending, Standing, Version};

/// All of it in one go: the record is replaced by that commit's own, so a kill in it is healed like the first.
pub(crate) fn commit_what_is_ahead(
    workspace: &Workspace,
    lock: &WriterLock,
    left: Left<'_>,
) -> Result<(), OpsError> {
    loop {
        let head = workspace.head()?;
        let ahead = ahead_of(workspace, lock, &head, left)?;
        if ahead.is_empty() {
            return Ok(());
        }
        match commit_for_recovery(workspace, lock, &head, &ahead) {
            Ok(_) => return Ok(()),
            // A person committed meanwhile.
            Err(OpsError::Git(GitError::Moved { .. })) if Instant::now() < workspace.deadline() => {
            }
            // Its own record, or the one before it, tells whoever comes next.
            Err(error) if error.is_general() => return Err(error),
            Err(_) => return commit_one_by_one(workspace, lock, left),
        }
    }
}

/// One task's trouble is told, and keeps none of the others.
fn commit_one_by_one(
    workspace: &Workspace,
    lock: &WriterLock,
    left: Left<'_>,
) -> Result<(), OpsError> {
    for write in &left.record.writes {
        let alone = &JournalRecord { writes: vec![write.clone()], ..left.record.clone() };
        loop {
            let head = workspace.head()?;
            let ahead = ahead_of(workspace, lock, &head, Left { record: alone, ..left })?;
            if ahead.is_empty() {
                break;
            }
            match commit_for_recovery(workspace, lock, &head, &ahead) {
                // A person committed meanwhile.
                Err(OpsError::Git(GitError::Moved { .. }))
                    if Instant::now() < workspace.deadline() => {}
                Err(error)
                    if error.is_general()
                        || matches!(error, OpsError::Git(GitError::Moved { .. })) =>
                {
                    journal::write(lock, left.record)?.sync(lock)?;
                    return Err(error);
                }
                Err(error) => {
                    tell_unfinished(workspace, &error);
                    break;
                }
                Ok(_) => break,
            }
        }
    }
    Ok(())
}

/// Returns those of the record's files that are ahead of HEAD by what the engine itself would have written. What is not to count goes back.
fn ahead_of(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    left: Left<'_>,
) -> Result<Vec<Write>, OpsError> {
    let in_force = Rc::new(in_force(workspace, head)?);
    let mut ahead = Vec::new();
    for intended in &left.record.writes {
        let Some(id) = &intended.task else { continue };
        let standing = match Standing::read_under(workspace, id, head.clone(), Rc::clone(&in_force))
        {
            Ok(standing) => Some(standing),
            // The task's own trouble is shown when somebody asks for the task.
            Err(OpsError::UnreadableTask { .. } | OpsError::NoTask { .. } | OpsError::Store(_)) => {
                None
            }
            Err(error) => return Err(error),
        };
        let done = match file_states::facts(workspace, head, left, intended, standing.as_ref())
            .map(step)
        {
            Ok(Step::Commit) => {
                let write = standing
                    .map(|standing| write_of(workspace, left.branch, &standing, intended))
                    .transpose();
                write.map(|write| ahead.extend(write.flatten()))
            }
            Ok(Step::Back) => {
                let back = put_back(workspace, lock, head, left.branch, intended);
                back.map(|()| tell_undone(workspace, head, left, intended))
            }
            Ok(Step::Tell) => {
                tell_left(workspace, head, left, intended);
                Ok(())
            }
            Ok(Step::Stay) => Ok(()),
            Err(error) => Err(error),
        };
        left.unless_of_one_task(workspace, done)?;
    }
    Ok(ahead)
}

/// Returns what is to be committed of a file that is ahead of HEAD.
fn write_of(
    workspace: &Workspace,
    branch: Option<&BranchLock>,
    standing: &Standing,
    intended: &IntendedWrite,
) -> Result<Option<Write>, OpsError> {
    let Pending::Versions(versions) = &standing.pending else { return Ok(None) };
    let misplaced = standing.place == TaskPlace::Active && is_archived(&standing.snapshot.path);
    let Some(mut write) = plan(workspace, standing, Choice::Pending)?.write.filter(|_| !misplaced)
    else {
        return Ok(None);
    };
    // Should this be stopped as well, what stood there first is still what it goes back to.
    write.recorded = intended.old.clone().filter(|_| Digest::of(write.bytes()) == intended.sha256);
    if let Some(branch) = branch {
        let mut first = prepared(workspace, branch, standing, intended)?;
        first.truncate(first.len().saturating_sub(versions.len()));
        write.versions.splice(0..0, first);
    }
    Ok(Some(write))
}

/// Returns the versions that were to be committed, oldest first, if the file has the last of them. They tell what the file alone
/// cannot: what of it a person's edit was, which goes in as theirs and not as part of the act that was killed with it.
fn prepared(
    workspace: &Workspace,
    branch: &BranchLock,
    standing: &Standing,
    intended: &IntendedWrite,
) -> Result<Vec<Version>, OpsError> {
    let repository = &workspace.repository;
    // The last of them may be what moves the file.
    let blob_in = |commit: CommitId| -> Result<Option<ObjectId>, OpsError> {
        for path in intended.places() {
            if let Some(blob) = repository.blob_id(commit, path.as_str())? {
                return Ok(Some(blob));
            }
        }
        Ok(None)
    };
    if !blob_in(branch.to)?
        .is_some_and(|blob| repository.is_same_text(&standing.snapshot.bytes, blob))
    {
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
            versions.push(Version {
                bytes: repository.read_blob(other)?,
                message,
                author: Some(author),
                authored,
            });
        }
        later = blob;
    }
    versions.reverse();
    Ok(versions)
}

/// Commits the writes; what a failure leaves stays on record.
fn commit_for_recovery(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    writes: &[Write],
) -> Result<Vec<CommitId>, OpsError> {
    let tried = publish(workspace, lock, head, writes, RecoveryAim::Finish);
    tried.map_err(|failed| failed.stuck.map_or(failed.error, |stuck| stuck.fault.into()))
}
