//! A sync that a kill interrupted is finished.

use std::time::{Duration, Instant};

use crate::git::{BranchLock, Finished, GitError, Locks, Unsettled};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::WriterLock;
use crate::storage::atomic_write;
use crate::storage::journal;
use crate::storage::journal::{JournalRecord, RecoveryAim};
use crate::system::disk::Unsynced;
use crate::system::process::boot;

/// Finishes what a kill interrupted. Its locks are gone already. The record of it stays where it has to be tried again: a task's
/// file that says what came, on a branch without that, would be taken for somebody's edit. Anything else that cannot be settled is told
/// once, and is a person's then.
pub(crate) fn finish(
    workspace: &Workspace,
    lock: &WriterLock,
    branch: &BranchLock,
) -> Result<(), ProjectError> {
    /// How long a git is waited for that a killed process left behind.
    const LEFT: Duration = Duration::from_secs(10);
    /// How long filters may take for all of it: nobody else can do anything meanwhile.
    const FILTERS: Duration = Duration::from_mins(2);
    let deadline = workspace.deadline().max(Instant::now() + LEFT);
    let begin = &mut |locks: &Locks| record(lock, locks);
    let repository = &workspace.repository;
    let Finished { unsettled: files, failed } =
        repository.finish_bringing(branch, deadline, FILTERS, begin)?;
    atomic_write::sweep_tasks(lock)?;
    if let Some(why) = failed {
        workspace.warn(format!("a sync was interrupted, and not all that was to come could be brought in: {why}; see `aof sync` and `git status`"));
    }
    let is_of_tasks = |file: &Unsettled| {
        repository.own_path(&file.path).is_some_and(|path| path.starts_with("tasks/"))
    };
    if !files.iter().any(is_of_tasks) {
        journal::clear(lock)?;
    }
    if files.is_empty() { Ok(()) } else { Err(GitError::NotSettled { files }.into()) }
}

/// A record that names no files is that of a sync: the locks say from where to where it goes.
pub(crate) fn record(lock: &WriterLock, locks: &Locks) -> std::io::Result<Vec<Unsynced>> {
    let locks = serde_json::to_value(locks).ok();
    let record = JournalRecord {
        pid: std::process::id(),
        boot: boot(),
        aim: RecoveryAim::Finish,
        writes: Vec::new(),
        locks,
    };
    let waiting = journal::write(lock, &record).and_then(|written| written.unsynced(lock));
    waiting.map(Vec::from_iter).map_err(std::io::Error::other)
}
