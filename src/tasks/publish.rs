//! Makes commits of writes, with their files, in one move of the branch. The caller holds the writer lock, and has checked that what it
//! read is unchanged.

use std::time::Instant;

use tracing::{info, warn};

use crate::domain::TaskId;
use crate::git::{CommitId, Draft, Head, Prepared, Published};
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

/// What was done of a change before its branch moved.
#[derive(Default)]
struct Progress {
    /// The record of the change, once it is written.
    record: Option<JournalRecord>,
    placed: PlacedFiles,
}

/// Writes and commits the changes. Where it fails, it puts the files back as they were. `aim` says what recovery does with what that
/// leaves.
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

    let mut progress = Progress::default();
    let published = match progress.publish(workspace, lock, &prepared, writes) {
        Ok(published) => published,
        Err(error) => {
            let stuck = progress.undo(lock, writes, aim);
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

impl Progress {
    /// Writes the record, then the files, and moves the branch.
    fn publish(
        &mut self,
        workspace: &Workspace,
        lock: &WriterLock,
        prepared: &Prepared,
        writes: &[Write],
    ) -> Result<Published, ProjectError> {
        let publication = workspace.repository.begin(prepared, workspace.deadline())?;
        let record = self.record.insert(JournalRecord {
            pid: std::process::id(),
            boot: boot(),
            aim: RecoveryAim::Finish,
            writes: writes.iter().map(Write::intended).collect(),
            locks: serde_json::to_value(publication.locks()).ok(),
        });
        let recorded = journal::write(lock, record)?;
        crash_points::point("ops.intent-written");
        let mut staged = write::stage(lock, writes)?;
        let mut unsynced = write::unsynced(&mut staged)?;
        unsynced.extend(recorded.unsynced(lock)?);
        let locked = publication.lock_index(unsynced)?;
        let folders = self.placed.put(lock, writes, &mut staged)?;
        Ok(locked.finish(folders)?)
    }

    /// Puts the files back as they were. Returns what kept it from that.
    fn undo(self, lock: &WriterLock, writes: &[Write], aim: RecoveryAim) -> Option<Stuck> {
        // The record says so first: a change that is reported as failed must not be found done.
        let record = self.record.filter(|_| aim == RecoveryAim::Undo && !self.placed.is_empty());
        let noted = record.and_then(|record| journal::note_undo(lock, &record).ok());
        let fault = self.placed.put_back(lock, writes).err()?;
        // The next command finds the note; only a power cut could still take it back.
        let noted = noted.map(|written| drop(written.sync(lock))).is_some();
        Some(Stuck { fault, noted })
    }
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
