//! What the remote has comes into the worktree, under the writer lock; and what a kill interrupted of that is finished.

use std::time::{Duration, Instant};

use crate::git::{BranchLock, CommitId, Finished, GitError, Head, Locks, Unsettled};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::journal;
use crate::storage::journal::{JournalRecord, RecoveryAim};
use crate::storage::tasks::atomic_write;
use crate::storage::{StoreError, WriterLock};
use crate::system::disk::Unsynced;
use crate::system::process::boot;
use crate::tasks::recovery::recover;

/// What became of it.
pub(crate) enum Brought {
    /// The branch is there.
    There,
    /// Somebody committed meanwhile: it has to be looked at again.
    Moved,
    /// Files are in the way; nothing was changed.
    Blocked(GitError),
}

/// Brings branch, index and worktree to a later commit. Filters run while the lock is held.
pub(crate) fn bring(
    workspace: &Workspace,
    head: &Head,
    to: CommitId,
    subject: &str,
) -> Result<Brought, OpsError> {
    // What may not come is told before anybody waits for a lock.
    match workspace.repository.may_come(head.commit, to) {
        Err(error) if is_blocked(&error) => return Ok(Brought::Blocked(error)),
        asked => asked?,
    }
    let lock = &workspace.lock()?;
    if recover::heal(workspace, lock)? {
        return Ok(Brought::Moved);
    }
    let deadline = Instant::now().max(workspace.deadline());
    let brought =
        workspace.repository.bring(head, to, subject, deadline, &mut |locks| record(lock, locks));
    match brought {
        Ok(published) => {
            if let Some(fault) = published.not_synced {
                // The record stays for the next command.
                return Err(StoreError::from(fault).into());
            }
            journal::clear(lock)?;
            Ok(Brought::There)
        }
        // That is asked before any file is changed.
        Err(error) if is_blocked(&error) => {
            journal::clear(lock)?;
            Ok(Brought::Blocked(error))
        }
        Err(error) => {
            // It may have got half-way; before the first file the record is only cleared, and nobody waited for. If that cannot be
            // healed now, the record stays, and the next command does it.
            recover::heal(workspace, lock)?;
            match error {
                GitError::Moved { .. } | GitError::Waiting { .. } => Ok(Brought::Moved),
                _ if workspace.head()?.commit == Some(to) => Ok(Brought::There),
                error => Err(error.into()),
            }
        }
    }
}

/// Returns whether people have to see to something before files can be brought in.
fn is_blocked(error: &GitError) -> bool {
    matches!(
        error,
        GitError::InTheWay { .. }
            | GitError::OwnFolder { .. }
            | GitError::OwnFolderTakenOut { .. }
            | GitError::Forbidden { .. }
    )
}

/// Finishes what a kill interrupted. Its locks are gone already. The record of it stays where it has to be tried again: a task's
/// file that says what came, on a branch without that, would be taken for somebody's edit. Anything else that cannot be settled is told
/// once, and is a person's then.
pub(crate) fn finish(
    workspace: &Workspace,
    lock: &WriterLock,
    branch: &BranchLock,
) -> Result<(), OpsError> {
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
fn record(lock: &WriterLock, locks: &Locks) -> std::io::Result<Vec<Unsynced>> {
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
