//! How the files of a write on record stand, and what they were before.

use crate::domain::Digest;
use crate::git::{BranchLock, CommitId, Head, ObjectId};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::ProjectPath;
use crate::storage::journal::{FileBefore, IntendedWrite};
use crate::tasks::recovery::pending::Left;
use crate::tasks::recovery::pending::read;
use crate::tasks::recovery::table::{Entry, Facts, File, Verdict};
use crate::tasks::state::task_state::{Pending, Standing};

/// Returns what is known of a task's file on record; the task is read already, if it can be.
pub(crate) fn facts(
    workspace: &Workspace,
    head: &Head,
    left: Left<'_>,
    write: &IntendedWrite,
    standing: Option<&Standing>,
) -> Result<Facts, OpsError> {
    let verdict = match standing.map(|standing| &standing.pending) {
        None => Verdict::Unknown,
        Some(Pending::Nothing) => Verdict::Same,
        Some(Pending::Versions(_)) => Verdict::Made,
        Some(Pending::Foreign(_) | Pending::Unearned(_) | Pending::Stale(_)) => Verdict::Foreign,
    };
    let file = file(workspace, head, left.branch, write)?;
    let (stand, aim) = (left.stand(head), left.record.aim);
    Ok(Facts { stand, aim, file, head: entry(workspace, head, left.branch, write)?, verdict })
}

/// Says how the task's file stands, at either of its places. One that a person had written and that was only to be committed is as
/// before: nothing of it is the command's.
fn file(
    workspace: &Workspace,
    head: &Head,
    branch: Option<&BranchLock>,
    write: &IntendedWrite,
) -> Result<File, OpsError> {
    let says = |path: &ProjectPath, digest: &Digest| -> Result<bool, OpsError> {
        Ok(read(workspace, path)?.is_some_and(|bytes| Digest::of(&bytes) == *digest))
    };
    let Some(old) = &write.old else {
        return Ok(match read(workspace, &write.new)? {
            None => File::Before,
            Some(bytes) if Digest::of(&bytes) == write.sha256 => File::Meant,
            Some(_) => File::Other,
        });
    };
    let moves = old.path != write.new;
    let is_at = |path: &ProjectPath| -> Result<bool, OpsError> {
        Ok((*path != old.path || old.sha256 != write.sha256) && says(path, &write.sha256)?)
    };
    if is_at(&write.new)? || moves && is_at(&old.path)? {
        let is_known = before(workspace, head, branch, old)?.is_some();
        return Ok(if is_known { File::Meant } else { File::Stuck });
    }
    Ok(if says(&old.path, &old.sha256)? { File::Before } else { File::Other })
}

/// Says whether HEAD has of the file what it had when the record was made.
fn entry(
    workspace: &Workspace,
    head: &Head,
    branch: Option<&BranchLock>,
    write: &IntendedWrite,
) -> Result<Entry, OpsError> {
    let repository = &workspace.repository;
    let blobs = |commit: Option<CommitId>| -> Result<Vec<Option<ObjectId>>, OpsError> {
        let blob = |path: &ProjectPath| match commit {
            Some(commit) => Ok(repository.blob_id(commit, path.as_str())?),
            None => Ok(None),
        };
        write.places().map(blob).collect()
    };
    let now = blobs(head.commit)?;
    let is_as_before = match (branch, &write.old) {
        (Some(BranchLock { from, .. }), _)
            if from.is_none_or(|from| repository.has_commit(from)) =>
        {
            now == blobs(*from)?
        }
        // Git has swept what would tell; the file itself may have been what HEAD had.
        (_, Some(old)) => match now.first().copied().flatten() {
            Some(blob) => Digest::of(&repository.read_blob(blob)?) == old.sha256,
            None => false,
        },
        (_, None) => now.iter().all(Option::is_none),
    };
    Ok(if is_as_before { Entry::Before } else { Entry::Since })
}

/// Returns what stood at the old place: what HEAD or the commit before has, or, where a person's edit was to be committed first, what
/// one of the commits has that were to come. Nothing where no commit has it.
pub(crate) fn before(
    workspace: &Workspace,
    head: &Head,
    branch: Option<&BranchLock>,
    old: &FileBefore,
) -> Result<Option<Vec<u8>>, OpsError> {
    let repository = &workspace.repository;
    let in_commit = |commit: CommitId| -> Result<Option<Vec<u8>>, OpsError> {
        let Some(blob) = repository.blob_id(commit, old.path.as_str())? else { return Ok(None) };
        Ok(Some(repository.read_blob(blob)?).filter(|bytes| Digest::of(bytes) == old.sha256))
    };
    if let Some(bytes) = head.commit.map(in_commit).transpose()?.flatten() {
        return Ok(Some(bytes));
    }
    let Some(branch) = branch else { return Ok(None) };
    for entry in repository.log(branch.to)? {
        let commit = entry?.id;
        if let Some(bytes) = in_commit(commit)? {
            return Ok(Some(bytes));
        }
        if Some(commit) == branch.from {
            break;
        }
    }
    Ok(None)
}
