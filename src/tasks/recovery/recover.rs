//! What a crash left is finished, under the lock, by the next command that writes.
//!
//! `.aof/intent` says where to look; only comparing the files with HEAD says what to do, as `table` has it. A file
//! ahead of HEAD is committed only if the engine itself would have made it out of HEAD's task (`TaskState` judges that).
//! Where it would not, since somebody committed other rules meanwhile, a file that is to the byte what was to be
//! written goes back to what it was, for nobody was told of it; and on another branch than the one that it was for it
//! goes back in any case. So does one whose command failed, told so, and could not put it back itself. One that is
//! behind a branch that has moved is brought forward; anything else is left for its task to be frozen and shown. Git's
//! locks are removed only if they are the recorded ones.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tracing::info;

use crate::git::{
    BranchLock, CheckoutRecovery, CommitId, CrashKind, GitError, Head, IncomingFiles, Locks, Unsettled,
};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::atomic_write;
use crate::storage::header_cache::{Hint, LastBoot};
use crate::storage::journal::{IntendedWrite, JournalRecord, JournalState, RecoveryAim};
use crate::storage::{ProjectPath, StoreError, WriterLock, journal};
use crate::system::disk::Unsynced;
use crate::system::process::boot;
use crate::tasks::recovery::interrupted_write::{InterruptedWrite, warn_unless_general};

/// Heals if there is a record of an unfinished write. A write that is under way is waited for.
pub(crate) fn recover_if_pending(workspace: &Workspace) -> Result<bool, ProjectError> {
    if !journal::is_pending(&workspace.paths) {
        return Ok(false);
    }
    let lock = workspace.lock()?;
    recover(workspace, &lock)
}

/// Finishes what a crash left. Returns whether there was anything.
pub(crate) fn recover(workspace: &Workspace, lock: &WriterLock) -> Result<bool, ProjectError> {
    let record = match journal::read(lock)? {
        JournalState::Nothing => {
            sweep_after_restart(lock)?;
            return Ok(false);
        }
        JournalState::Unreadable => {
            atomic_write::sweep_tasks(lock)?;
            journal::clear(lock)?;
            return Ok(true);
        }
        JournalState::Record(record) => record,
    };
    info!(pid = record.pid, "finishing what a crash left");
    let locks = record.locks.as_ref().and_then(|locks| Locks::deserialize(locks).ok());
    let landed = match &locks {
        Some(locks) => workspace.repository.clear_stale(locks, crash_kind(&record))?.landed,
        None => false,
    };
    workspace.repository.sweep_temps()?;
    let swept = atomic_write::sweep_local(lock, workspace.clock()().into());
    warn_unless_general(workspace, swept.map_err(ProjectError::from))?;
    if record.writes.is_empty() {
        // Only a sync writes down no files: git itself changed them. Before the first of them, whatever there is now is somebody's.
        match locks {
            Some(Locks { branch: Some(branch), files: IncomingFiles::Coming, .. }) => {
                finish_sync(workspace, lock, &branch)?;
            }
            _ => journal::clear(lock)?,
        }
        return Ok(true);
    }
    // A commit that never got onto the branch may have been collected by git: then the files alone tell.
    let is_there =
        |branch: &BranchLock| landed || workspace.repository.log_entry(branch.to).is_ok();
    let to_move = locks.and_then(|locks| locks.branch);
    let reference = to_move.as_ref().map(|branch| branch.reference.clone());
    let branch = to_move.filter(is_there);
    warn_unless_general(workspace, sweep_folders(lock, &record))?;
    let left = InterruptedWrite { workspace, lock, record: &record, reference, branch };
    finish(&left, landed)?;
    journal::clear(lock)?;
    Ok(true)
}

/// Removes temporary files among the tasks, once after each start of the machine. A power cut may keep them and lose the record of
/// their write.
fn sweep_after_restart(lock: &WriterLock) -> Result<(), ProjectError> {
    let Some(boot) = boot() else { return Ok(()) };
    if LastBoot::load(lock.paths()).is_some_and(|last| last.boot == boot) {
        return Ok(());
    }
    atomic_write::sweep_tasks(lock)?;
    // Without the note the next command sweeps again.
    let _ = LastBoot { boot }.save(lock.paths());
    Ok(())
}

/// Finishes or undoes a write of tasks and rules.
fn finish(left: &InterruptedWrite<'_>, landed: bool) -> Result<(), ProjectError> {
    let InterruptedWrite { workspace, record, .. } = left;
    let head = workspace.head()?;
    match &left.branch {
        Some(branch) if !landed => update_stale_entries(left, branch, Some(branch.to))?,
        // After a kill alone nothing is behind: whatever is as it was before was put back by somebody. On another branch it is as that
        // one has it.
        Some(branch) if crash_kind(record) == CrashKind::MachineRestarted && head.reference == branch.reference => {
            for write in &record.writes {
                warn_unless_general(workspace, left.bring_forward(&head, branch, write))?;
            }
            update_stale_entries(left, branch, branch.from)?;
        }
        _ => {}
    }
    let is_to_be_there = landed || left.is_own_branch(&head) && record.aim == RecoveryAim::Finish;
    for write in &record.writes {
        if !write.made.is_empty() && !left.are_created_files_committed(&head, write)? {
            left.undo_created_files(&head, write)?;
            continue;
        }
        let companions = left.resolve_companions(&head, write);
        if is_to_be_there {
            warn_unless_general(
                workspace,
                companions.and_then(|()| left.resolve_move(&head, write)),
            )?;
        } else {
            left.warn_or_stop(companions.and_then(|()| left.undo_move(&head, write)))?;
        }
    }
    // What is on its branch already is ahead of nothing; on another branch it would be done a second time.
    if landed { Ok(()) } else { left.commit_files_ahead() }
}

/// Says how whoever wrote the record ended. After a start of the machine, names that were not on the disk are lost.
fn crash_kind(record: &JournalRecord) -> CrashKind {
    if record.boot.is_some() && record.boot == boot() { CrashKind::ProcessKilled } else { CrashKind::MachineRestarted }
}

fn sweep_folders(lock: &WriterLock, record: &JournalRecord) -> Result<(), ProjectError> {
    let folders: BTreeSet<&str> =
        record.writes.iter().flat_map(IntendedWrite::paths).map(ProjectPath::folder).collect();
    Ok(folders.into_iter().try_for_each(|folder| atomic_write::sweep(lock, folder))?)
}

/// Brings entries of git's index that are still what `stale` has to what HEAD has. The index moves before the branch, so a
/// kill in between leaves it at the commit that was to come; a power cut may leave it at the one before: either way the next
/// `git commit` of a person would say what nobody meant. The record goes on saying where the branch was to move, because a kill
/// in here must be healed as well.
fn update_stale_entries(
    left: &InterruptedWrite<'_>,
    branch: &BranchLock,
    stale: Option<CommitId>,
) -> Result<(), ProjectError> {
    let InterruptedWrite { workspace, lock, record, .. } = left;
    let files: BTreeSet<&str> =
        record.writes.iter().flat_map(IntendedWrite::paths).map(ProjectPath::as_str).collect();
    let files: Vec<&str> = files.into_iter().collect();
    let deadline = Instant::now().max(workspace.deadline());
    workspace.repository.update_stale_entries(stale, &files, deadline, &mut |locks| {
        let locks = Locks { branch: Some(branch.clone()), ..locks.clone() };
        let record = JournalRecord { locks: serde_json::to_value(locks).ok(), ..(*record).clone() };
        let waiting = journal::write(lock, &record).and_then(|written| written.unsynced(lock));
        waiting.map(Vec::from_iter).map_err(std::io::Error::other)
    })?;
    Ok(())
}

/// Finishes what a kill interrupted. Its locks are gone already. The record of it stays where it has to be tried again: a task's
/// file that says what came, on a branch without that, would be taken for somebody's edit. Anything else that cannot be settled is told
/// once, and is a person's then.
fn finish_sync(
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
    let CheckoutRecovery { unsettled: files, failed } =
        repository.recover_fast_forward(branch, deadline, FILTERS, begin)?;
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

/// Writes a journal record without task files, as of a sync: its locks say which commit the branch moves from and to.
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

/// What became of it.
pub(crate) enum FastForwardOutcome {
    /// The branch is there.
    Done,
    /// Somebody committed meanwhile: it has to be looked at again.
    Moved,
    /// Files are in the way; nothing was changed.
    Blocked(GitError),
}

/// Brings branch, index and worktree to a later commit. Filters run while the lock is held.
pub(crate) fn fast_forward(
    workspace: &Workspace,
    head: &Head,
    to: CommitId,
    subject: &str,
) -> Result<FastForwardOutcome, ProjectError> {
    // What may not come is told before anybody waits for a lock.
    match workspace.repository.check_incoming_commits(head.commit, to) {
        Err(error) if is_blocked(&error) => return Ok(FastForwardOutcome::Blocked(error)),
        asked => asked?,
    }
    let lock = &workspace.lock()?;
    if recover(workspace, lock)? {
        return Ok(FastForwardOutcome::Moved);
    }
    let deadline = Instant::now().max(workspace.deadline());
    let brought =
        workspace.repository.fast_forward(head, to, subject, deadline, &mut |locks| record(lock, locks));
    match brought {
        Ok(published) => {
            if let Some(fault) = published.not_synced {
                // The record stays for the next command.
                return Err(StoreError::from(fault).into());
            }
            journal::clear(lock)?;
            Ok(FastForwardOutcome::Done)
        }
        // That is asked before any file is changed.
        Err(error) if is_blocked(&error) => {
            journal::clear(lock)?;
            Ok(FastForwardOutcome::Blocked(error))
        }
        Err(error) => {
            // It may have got half-way; before the first file the record is only cleared, and nobody waited for. If that cannot be
            // healed now, the record stays, and the next command does it.
            recover(workspace, lock)?;
            match error {
                GitError::Moved { .. } | GitError::Waiting { .. } => Ok(FastForwardOutcome::Moved),
                _ if workspace.head()?.commit == Some(to) => Ok(FastForwardOutcome::Done),
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
