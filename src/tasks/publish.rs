//! Makes commits of writes, with their files, in one move of the branch. The caller holds the writer lock, and has checked that what it
//! read is unchanged.

use std::cell::RefCell;
use std::time::Instant;

use tracing::{info, warn};

use crate::domain::TaskId;
use crate::git::{CommitId, Draft, Head, Prepared};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::journal::{JournalRecord, RecoveryAim};
use crate::storage::{StoreError, WriterLock, journal};
use crate::system::crash_points;
use crate::system::process::boot;
use crate::tasks::write;
use crate::tasks::write::{PlacedFiles, Write};

/// A commit that was not made.
pub(crate) struct Failed {
    pub error: ProjectError,
    pub stuck: Option<Stuck>,
}

impl From<ProjectError> for Box<Failed> {
    fn from(error: ProjectError) -> Self {
        Self::new(Failed { error, stuck: None })
    }
}

/// Files that could not be put back as they were.
pub(crate) struct Stuck {
    pub fault: StoreError,
    /// Whether the record says that they are to be.
    pub noted: bool,
}

/// Where it fails, the files are put back as they were. What that leaves is finished or undone by whoever heals, as it is to be.
pub(crate) fn publish(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    writes: &[Write],
    aim: RecoveryAim,
) -> Result<Vec<CommitId>, Box<Failed>> {
    let start = Instant::now();
    write::look_in_the_way(&workspace.paths, writes).map_err(ProjectError::from)?;
    let prepared = prepare(workspace, head, writes)?;
    crash_points::point("ops.prepared");
    workspace.wait_for_index();

    let staged = RefCell::new(Vec::new());
    let mut named = PlacedFiles::default();
    let failure = RefCell::new(None);
    let recorded = RefCell::new(None);
    let published = workspace.repository.publish(
        &prepared,
        workspace.deadline(),
        &mut |locks| {
            let intended = writes.iter().map(Write::intended).collect();
            let locks = serde_json::to_value(locks).ok();
            let record = JournalRecord {
                pid: std::process::id(),
                boot: boot(),
                aim: RecoveryAim::Finish,
                writes: intended,
                locks,
            };
            let written = journal::write(lock, &record).map_err(std::io::Error::other)?;
            recorded.replace(Some(record));
            crash_points::point("ops.intent-written");
            let waiting = write::stage(lock, writes).and_then(|files| {
                let mut staged = staged.borrow_mut();
                *staged = files;
                let mut waiting = write::unsynced(&mut staged)?;
                waiting.extend(written.unsynced(lock)?);
                Ok(waiting)
            });
            waiting.map_err(|error| {
                let told = std::io::Error::other(error.to_string());
                failure.replace(Some(error));
                told
            })
        },
        &mut || {
            named
                .put(lock, writes, &mut staged.borrow_mut())
                .map_err(|error| failure.replace(Some(error)))
                .ok()
        },
    );
    let published = match published {
        Ok(published) => published,
        Err(error) => {
            let error = failure.into_inner().map_or_else(|| error.into(), ProjectError::from);
            // Noted first: whoever is told that it failed is not to find it done.
            let record =
                recorded.into_inner().filter(|_| aim == RecoveryAim::Undo && !named.is_empty());
            let noted = record.and_then(|record| journal::note_undo(lock, &record).ok());
            let stuck = named.put_back(lock, writes).err().map(|fault| {
                // It is there for the next command; only a power cut could still take it back.
                let noted = noted.map(|written| drop(written.sync(lock))).is_some();
                Stuck { fault, noted }
            });
            return Err(Box::new(Failed { error, stuck }));
        }
    };
    crash_points::point("ops.committed");
    if let Some(fault) = published.not_synced {
        // The record stays: it is what the next command goes by if a power cut takes some of it back.
        return Err(ProjectError::from(StoreError::from(fault)).into());
    }
    let settled = write::remove_moved(lock, writes);
    crash_points::point("ops.settled");
    if let Err(fault) = settled.and_then(|()| journal::clear(lock)) {
        // The commit stands, so this is no failure of the act. The record stays, and the next command goes on from there.
        warn!("the commit is made, and not all is cleared away behind it: {fault}");
    }
    let took = start.elapsed();
    workspace.note_commit(took);
    let commits = last_of_each(&prepared, writes);
    for (write, commit) in writes.iter().zip(&commits) {
        let task = write.id.as_ref().map(TaskId::as_str);
        info!(taskId = task, %commit, path = write.to.as_str(), seconds = took.as_secs_f64(), "committed");
    }
    Ok(commits)
}

/// Writes the commits of these writes on top of the branch, on no branch yet.
pub(crate) fn prepare(
    workspace: &Workspace,
    head: &Head,
    writes: &[Write],
) -> Result<Prepared, ProjectError> {
    Ok(workspace.repository.prepare_batch(head, &drafts(workspace, writes)?)?)
}

/// Returns the commits that these writes are to become, oldest first.
pub(crate) fn drafts(workspace: &Workspace, writes: &[Write]) -> Result<Vec<Draft>, ProjectError> {
    let committer = workspace.repository.identity()?;
    let by_user = writes.iter().any(Write::is_by_user);
    let user = if by_user { workspace.repository.author_identity()? } else { committer.clone() };
    let now = workspace.now();
    Ok(writes.iter().flat_map(|write| write.drafts(&user, &committer, now)).collect())
}

/// Returns the last commit of each write.
pub(crate) fn last_of_each(prepared: &Prepared, writes: &[Write]) -> Vec<CommitId> {
    let commits: Vec<CommitId> = prepared.commits().collect();
    let mut made = 0;
    let last = |write: &Write| {
        made += write.commits();
        commits[made - 1]
    };
    writes.iter().map(last).collect()
}
