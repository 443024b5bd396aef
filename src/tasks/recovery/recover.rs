//! Recovery after a crash, by the next command that writes, under the lock.
//!
//! `.aof/intent` names the files; comparing them with HEAD decides, by `table`. A file ahead of HEAD is committed only if the engine
//! would have made it from HEAD's task (`TaskState` judges that). A file with exactly the recorded bytes is restored to its old
//! version, because no command has reported that the change was made, if the rules have changed meanwhile, if another branch is checked out,
//! or if its command reported a failure but could not roll back. A file behind a moved branch is updated. Any other file stays, and
//! its task is frozen and reported. Git's locks are removed only if they are the recorded ones.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tracing::info;

use crate::git::{
    BranchLock, CheckoutRecovery, CommitId, CrashKind, GitError, Head, IncomingFiles, Locks,
    Unsettled,
};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::atomic_write;
use crate::storage::header_cache::{Hint, LastBoot};
use crate::storage::journal::{IntendedWrite, JournalRecord, JournalState, RecoveryAim};
use crate::storage::{ProjectPath, StoreError, WriterLock, journal, task_files};
use crate::system::disk::Unsynced;
use crate::system::process::boot;
use crate::tasks::recovery::dropped_steps::note_waiting;
use crate::tasks::recovery::interrupted_write::{InterruptedWrite, warn_unless_general};

/// Recovers if the journal has a record. Waits for a write that is still running. Returns whether there was a record.
pub(crate) fn recover_if_pending(workspace: &Workspace) -> Result<bool, ProjectError> {
    if !journal::is_pending(&workspace.paths) {
        return Ok(false);
    }
    lock_recovered(workspace).map(|(_, recovered)| recovered)
}

/// Takes the lock and recovers from a crash. Returns whether anything was recovered. During a merge or similar operation of git,
/// waits for its end without the lock, which `aof merge-driver --settle` needs.
pub(crate) fn lock_recovered(workspace: &Workspace) -> Result<(WriterLock, bool), ProjectError> {
    loop {
        let lock = workspace.lock()?;
        match recover(workspace, &lock) {
            // The wait for the git of a killed sync keeps the lock.
            Err(ProjectError::Git(GitError::Waiting { .. })) if workspace.underway().is_some() => {
                drop(lock);
                workspace.head()?;
            }
            recovered => return Ok((lock, recovered?)),
        }
    }
}

/// Recovers from a crash. Returns whether anything was recovered. Fails with `Waiting` during a merge or similar operation.
pub(crate) fn recover(workspace: &Workspace, lock: &WriterLock) -> Result<bool, ProjectError> {
    let record = match journal::read(lock)? {
        JournalState::Nothing => {
            sweep_after_restart(lock)?;
            atomic_write::sweep_dead(lock)?;
            return put_back_dropped(workspace, lock);
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
        // Only a sync records no files: git itself changed them. Before it changed the first one, there is nothing to recover.
        match locks {
            Some(Locks { branch: Some(branch), files: IncomingFiles::Coming, .. }) => {
                finish_sync(workspace, lock, &branch)?;
            }
            _ => journal::clear(lock)?,
        }
        return Ok(true);
    }
    // Git may have pruned a commit that is not on the branch: then only the files show the state.
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

/// Removes temporary files below `tasks/`, once after each boot. A power cut may keep them and lose the record of their write.
fn sweep_after_restart(lock: &WriterLock) -> Result<(), ProjectError> {
    let Some(boot) = boot() else { return Ok(()) };
    if LastBoot::load(lock.paths()).is_some_and(|last| last.boot == boot) {
        return Ok(());
    }
    atomic_write::sweep_tasks(lock)?;
    // If this fails, the next command sweeps again.
    let _ = LastBoot { boot }.save(lock.paths());
    Ok(())
}

/// Finishes or undoes a write of tasks and rules.
fn finish(left: &InterruptedWrite<'_>, landed: bool) -> Result<(), ProjectError> {
    let InterruptedWrite { workspace, record, .. } = left;
    let head = workspace.head_now()?;
    match &left.branch {
        Some(branch) if !landed => update_stale_entries(left, branch, Some(branch.to))?,
        // Only a power cut leaves files behind the branch. After a kill alone, an old version was restored by a person; on
        // another branch, git has written its version.
        Some(branch)
            if crash_kind(record) == CrashKind::MachineRestarted
                && head.reference == branch.reference =>
        {
            for write in &record.writes {
                warn_unless_general(workspace, left.update_to_branch(&head, branch, write))?;
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
    // A change that is on its branch must not be committed again, not even on another branch.
    if landed { Ok(()) } else { left.commit_files_ahead() }
}

/// Returns the way in which the process that wrote the record ended. After a restart of the machine, names that were not synced are
/// lost.
fn crash_kind(record: &JournalRecord) -> CrashKind {
    if record.boot.is_some() && record.boot == boot() {
        CrashKind::ProcessKilled
    } else {
        CrashKind::MachineRestarted
    }
}

fn sweep_folders(lock: &WriterLock, record: &JournalRecord) -> Result<(), ProjectError> {
    let folders: BTreeSet<&str> =
        record.writes.iter().flat_map(IntendedWrite::paths).map(ProjectPath::folder).collect();
    Ok(folders.into_iter().try_for_each(|folder| atomic_write::sweep(lock, folder))?)
}

/// Updates index entries that are still as in `stale` to HEAD's version. The index moves before the branch, so a kill in between
/// leaves it ahead, and a power cut may leave it behind: either way, a person's next `git commit` would include an unintended change.
/// The record keeps the branch's move, because a kill in here must be recovered too.
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

/// Finishes or undoes an interrupted sync, whose locks are removed already. If a task file can be neither finished nor undone, the
/// record stays for another try: the incoming version on the old branch would be taken for a person's edit. Other files are reported
/// once and left to a person.
fn finish_sync(
    workspace: &Workspace,
    lock: &WriterLock,
    branch: &BranchLock,
) -> Result<(), ProjectError> {
    /// The time to wait for a git that a killed process left running.
    const LEFT: Duration = Duration::from_secs(10);
    /// The time limit for all filters together: the lock is held meanwhile.
    const FILTERS: Duration = Duration::from_mins(2);
    let deadline = workspace.deadline().max(Instant::now() + LEFT);
    let begin = &mut |locks: &Locks| record_sync(lock, locks);
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

/// Writes a journal record without task files, as for a sync: its locks contain the commits between which the branch moves.
pub(crate) fn record_sync(lock: &WriterLock, locks: &Locks) -> std::io::Result<Vec<Unsynced>> {
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

/// The result of a fast-forward.
pub(crate) enum FastForwardOutcome {
    /// The branch is at the new commit.
    Done,
    /// Another commit was made meanwhile: decide again.
    Moved,
    /// Files would be overwritten; nothing was changed.
    Blocked(GitError),
}

/// Restores the steps that git has just dropped, before another command repeats them. Returns whether there were any. If a person
/// must clear the way, their tasks wait; `aof status` reports it.
fn put_back_dropped(workspace: &Workspace, lock: &WriterLock) -> Result<bool, ProjectError> {
    let head = match workspace.head_now() {
        Err(GitError::Waiting { .. }) => return Ok(false),
        head => head?,
    };
    if !workspace.repository.was_just_overtaken(&head)? {
        return Ok(false);
    }
    let dropped = workspace.repository.dropped_steps(&head)?;
    let last = dropped.iter().find(|one| !one.partial && head.commit == Some(one.has));
    let Some(last) = last else { return Ok(false) };
    // Git leaves a file of a step that it did not know; it would refuse to write the same file over it.
    for (path, after) in workspace.repository.resulting_files(&last.steps)? {
        let (Some(after), Ok(path)) = (after, path.parse::<ProjectPath>()) else { continue };
        let is_known = workspace.repository.blob_id(last.has, path.as_str())?.is_some();
        let standing = task_files::read(&workspace.paths, &path).ok().filter(|_| !is_known);
        let same = standing.filter(|text| workspace.repository.is_same_text(&text.bytes, after));
        if let Some(text) = same {
            atomic_write::remove_if(lock, &path, &text.bytes)?;
        }
    }
    match move_branch(workspace, lock, &head, last.had, PUT_BACK) {
        Ok(FastForwardOutcome::Done) => Ok(true),
        Ok(FastForwardOutcome::Moved) => Ok(false),
        Err(ProjectError::Git(error @ (GitError::Locked { .. } | GitError::Waiting { .. }))) => {
            Err(error.into())
        }
        // One file blocks the restoration, which must not stop the other tasks.
        Ok(FastForwardOutcome::Blocked(_)) | Err(ProjectError::Git(_)) => {
            note_waiting(workspace, last.had)
        }
        Err(error) => Err(error),
    }
}

/// The subject of a fast-forward that restores dropped steps.
pub(crate) const PUT_BACK: &str = "put back what an overtaken git took back";

/// Checks whether a fast-forward is possible. Another command may be writing at this moment, so obstacles count only under the lock.
pub(crate) fn check_fast_forward(
    workspace: &Workspace,
    head: &Head,
    to: CommitId,
) -> Result<FastForwardOutcome, ProjectError> {
    if workspace.repository.check_fast_forward(head, to).is_ok() {
        return Ok(FastForwardOutcome::Done);
    }
    let (_lock, recovered) = lock_recovered(workspace)?;
    if recovered || workspace.head_now()? != *head {
        return Ok(FastForwardOutcome::Moved);
    }
    Ok(match workspace.repository.check_fast_forward(head, to) {
        Ok(()) => FastForwardOutcome::Done,
        Err(error) => FastForwardOutcome::Blocked(error),
    })
}

/// Moves branch, index and worktree to a later commit. Filters run while the lock is held.
pub(crate) fn fast_forward(
    workspace: &Workspace,
    head: &Head,
    to: CommitId,
    subject: &str,
) -> Result<FastForwardOutcome, ProjectError> {
    // Reject forbidden changes before waiting for the lock.
    match workspace.repository.check_incoming_commits(head.commit, to) {
        Err(error) if is_blocked(&error) => return Ok(FastForwardOutcome::Blocked(error)),
        asked => asked?,
    }
    let (lock, recovered) = lock_recovered(workspace)?;
    if recovered {
        return Ok(FastForwardOutcome::Moved);
    }
    move_branch(workspace, &lock, head, to, subject)
}

/// Carries out a fast-forward under the lock, after a recovery.
pub(crate) fn move_branch(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    to: CommitId,
    subject: &str,
) -> Result<FastForwardOutcome, ProjectError> {
    let deadline = Instant::now().max(workspace.deadline());
    let mut has_begun = false;
    let brought = workspace.repository.fast_forward(head, to, subject, deadline, &mut |locks| {
        has_begun |= locks.files == IncomingFiles::Coming;
        record_sync(lock, locks)
    });
    match brought {
        Ok(published) => {
            if let Some(fault) = published.not_synced {
                // The record stays for the next command.
                return Err(StoreError::from(fault).into());
            }
            journal::clear(lock)?;
            workspace.request_maintenance();
            Ok(FastForwardOutcome::Done)
        }
        Err(error) if !has_begun && is_blocked(&error) => {
            journal::clear(lock)?;
            Ok(FastForwardOutcome::Blocked(error))
        }
        Err(error) => {
            // The move may have stopped half-way. If recovery fails now, the record stays for the next command.
            recover(workspace, lock)?;
            match error {
                GitError::Moved { .. } | GitError::Waiting { .. } => Ok(FastForwardOutcome::Moved),
                _ if workspace.head()?.commit == Some(to) => Ok(FastForwardOutcome::Done),
                error => Err(error.into()),
            }
        }
    }
}

/// Returns whether a person must act before the fast-forward is possible.
pub(crate) fn is_blocked(error: &GitError) -> bool {
    matches!(
        error,
        GitError::WouldOverwrite { .. }
            | GitError::Unmerged { .. }
            | GitError::CheckoutFailed { .. }
            | GitError::OwnFolder { .. }
            | GitError::OwnFolderTakenOut { .. }
            | GitError::Forbidden { .. }
    )
}
