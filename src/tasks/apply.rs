//! The only way a task changes on disk: the task is read, the change is decided, and it is committed under the writer lock.
//!
//! ```text
//!   read and decide     no lock held; a refusal ends here
//!   lock                the writer lock; recovery of interrupted writes; if the task changed since it was read, start again
//!   prepare             objects of the commits, under temporary names    kill: temporary files, which git sweeps
//!   journal             `.aof/intent` names the files and git's locks    kill: the journal record, nothing else
//!   stage               the files under temporary names; record, files and objects are synced   kill: temporary files, swept by `recover`
//!   write               the files, each replaced whole                   kill: files ahead of HEAD -> committed by `recover`
//!   commit              the branch and the index move                    <- the commit point
//!   sync                the folders of the files and of the branch       power cut: some old, some new -> updated by `recover`
//!   clean up            the old file of a moved task is removed, the journal is blanked   kill: repeated by `recover`
//! ```
//! If the commit fails, the files are rolled back. The journal is marked for rollback first: if the rollback fails as well, `recover`
//! repeats it, and never commits a change that was reported as failed.
//!
//! A batch changes several tasks. Each task gets its own commit, but there is one pack, one move of the branch and one patch of the
//! index. A task that fails in the batch is retried alone, so that its error is certainly its own.

use std::ops::ControlFlow;
use std::rc::Rc;
use std::slice;
use std::time::{Duration, Instant};

use crate::domain::{Digest, TaskId};
use crate::git::{CommitId, GitError, Head};
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::atomic_write;
use crate::storage::journal::RecoveryAim;
use crate::storage::layout::STALE;
use crate::storage::{Folder, StoreError, WriterLock};
use crate::tasks::plan::{Changed, Choice, DryRun, Plan, first_due_step, plan};
use crate::tasks::publish::{FailedRollback, FailedWrite, drafts, prepare, publish};
use crate::tasks::recovery::dropped_steps::ensure_not_dropped;
use crate::tasks::recovery::recover;
use crate::tasks::state::task_state::{Pending, TaskState, TaskVersion};
use crate::tasks::write::{PlainFile, Write, ensure_destinations_free};

/// Retries after another process was faster. Beyond them, an operation retries until its deadline for waiting.
const ATTEMPTS: usize = 100;

/// The largest batch. A larger one gains little, and other processes wait for the lock meanwhile.
pub(crate) const BATCH_SIZE: usize = 50;

/// The next step of an operation with the task that it read.
pub(crate) enum NextStep {
    Nothing,
    /// A preliminary change. Then the task is read again, and the operation decides again.
    First(Choice),
    /// The change that the operation is for.
    Do(Choice),
}

/// Decides what an operation does with the task that it read. Called again whenever another process was faster.
pub(crate) type Decide<'d> = dyn FnMut(&mut TaskState) -> Result<NextStep, ProjectError> + 'd;

/// Decides as [`Decide`] does, for the task of a batch with this index.
pub(crate) type DecideByIndex<'d> =
    dyn FnMut(&Workspace, usize, &mut TaskState) -> Result<NextStep, ProjectError> + 'd;

/// Receives the result for the task of that index; `None` if there was nothing to do.
pub(crate) type ReceiveResult<'e> = dyn FnMut(usize, Result<Option<Changed>, ProjectError>) + 'e;

/// Changes a task. Steps that are due are made first: adoption, automatic gates, changed rules. Fails if the task is frozen.
pub(crate) fn change(
    workspace: &Workspace,
    id: &TaskId,
    dry_run: DryRun,
    decide: &mut dyn FnMut(&TaskState) -> Result<Choice, ProjectError>,
) -> Result<Changed, ProjectError> {
    let changed =
        apply(workspace, id, dry_run, &mut |state| due_step_or(workspace, state, &mut *decide))?;
    changed.ok_or_else(|| ProjectError::Contended { id: id.clone() })
}

/// Returns the step that is due with the task, otherwise the result of `decide`. Fails if the task is frozen.
pub(crate) fn due_step_or(
    workspace: &Workspace,
    state: &TaskState,
    decide: impl FnOnce(&TaskState) -> Result<Choice, ProjectError>,
) -> Result<NextStep, ProjectError> {
    state.ensure_unfrozen()?;
    Ok(match first_due_step(workspace, state)? {
        Some(first) => NextStep::First(first),
        None => NextStep::Do(decide(state)?),
    })
}

/// Carries out the step that `decide` returns. Returns `None` if that is [`NextStep::Nothing`].
pub(crate) fn apply(
    workspace: &Workspace,
    id: &TaskId,
    dry_run: DryRun,
    decide: &mut Decide<'_>,
) -> Result<Option<Changed>, ProjectError> {
    if dry_run == DryRun::Yes {
        workspace.check_own_folder()?;
        let Some(planned) = plan_dry_run(workspace, id, decide)? else { return Ok(None) };
        planned.rehearse(workspace)?;
        return Ok(Some(planned.changed));
    }
    let mut warnings = Vec::new();
    for attempt in 1.. {
        if attempt > ATTEMPTS && Instant::now() >= workspace.deadline() {
            break;
        }
        recover::recover_if_pending(workspace)?;
        let mut state = TaskState::read(workspace, id)?;
        ensure_not_dropped(workspace, &state)?;
        if replace_stale_file(workspace, &state)? {
            continue;
        }
        let (choice, is_first) = match decide(&mut state) {
            Ok(NextStep::Nothing) => return Ok(None),
            Ok(NextStep::First(choice)) => (choice, true),
            Ok(NextStep::Do(choice)) => (choice, false),
            // The file was read before another command moved it, and HEAD after that.
            Err(ProjectError::Frozen { .. })
                if workspace.head()? != state.head
                    || !state.snapshot.is_current(&workspace.paths)? =>
            {
                continue;
            }
            Err(error) => return Err(error),
        };
        if let Some(mut changed) = carry_out(workspace, &state, choice)? {
            warnings.append(&mut changed.warnings);
            if !is_first {
                return Ok(Some(Changed { warnings, ..changed }));
            }
        }
    }
    Err(ProjectError::Contended { id: id.clone() })
}

/// A change that was planned and not carried out.
pub(crate) struct DryRunPlan {
    pub changed: Changed,
    head: Head,
    /// The writes of the steps that are due, then of the change itself.
    writes: Vec<Write>,
}

impl DryRunPlan {
    /// Fails if the change could not be committed, as far as can be checked without the lock.
    pub(crate) fn rehearse(&self, workspace: &Workspace) -> Result<(), ProjectError> {
        if self.writes.is_empty() {
            return Ok(());
        }
        ensure_destinations_free(&workspace.paths, &self.writes)?;
        Ok(workspace.repository.check_prepare(&self.head, &drafts(workspace, &self.writes)?)?)
    }
}

/// Plans a change. Writes nothing, and does not check whether the change could be committed.
pub(crate) fn plan_dry_run(
    workspace: &Workspace,
    id: &TaskId,
    decide: &mut Decide<'_>,
) -> Result<Option<DryRunPlan>, ProjectError> {
    recover::recover_if_pending(workspace)?;
    let mut state = TaskState::read(workspace, id)?;
    ensure_not_dropped(workspace, &state)?;
    let (mut writes, mut warnings) = (Vec::new(), Vec::new());
    loop {
        let (choice, is_first) = match decide(&mut state)? {
            NextStep::Nothing => return Ok(None),
            NextStep::First(choice) => (choice, true),
            NextStep::Do(choice) => (choice, false),
        };
        let Plan { mut changed, write } = plan(workspace, &state, choice)?;
        warnings.append(&mut changed.warnings);
        if let (true, Some(write)) = (is_first, &write) {
            state.snapshot.bytes = write.bytes().to_vec();
        }
        writes.extend(write);
        if !is_first {
            let changed = Changed { warnings, ..changed };
            return Ok(Some(DryRunPlan { changed, head: state.head, writes }));
        }
        state.file = changed.after;
    }
}

/// Commits a choice. Returns `None` if the task or the branch changed since they were read.
fn carry_out(
    workspace: &Workspace,
    state: &TaskState,
    choice: Choice,
) -> Result<Option<Changed>, ProjectError> {
    let plan = plan(workspace, state, choice)?;
    let Some(write) = plan.write else { return Ok(Some(plan.changed)) };
    let read = &state.snapshot;
    // A file that is replaced is compared again right before that, so the file system's metadata suffices here.
    let replaced = write.to == read.path && write.bytes() != read.bytes;
    let is_current = || {
        let paths = &workspace.paths;
        Ok(replaced && read.seems_current(paths) || read.is_current(paths)?)
    };
    let commits =
        commit_unless_changed(workspace, &state.head, slice::from_ref(&write), is_current)?;
    Ok(commits.map(|commits| Changed { commit: commits.last().copied(), ..plan.changed }))
}

/// Replaces a stale task file by HEAD's version with the person's edits merged into it. Keeps the old bytes in `.aof/stale/`. Returns
/// whether the task must be read again.
fn replace_stale_file(workspace: &Workspace, state: &TaskState) -> Result<bool, ProjectError> {
    let Pending::Stale(bytes) = &state.pending else { return Ok(false) };
    let (path, old) = (&state.snapshot.path, &state.snapshot.bytes);
    let (lock, recovered) = recover::lock_recovered(workspace)?;
    if recovered || !state.snapshot.is_current(&workspace.paths)? {
        return Ok(true);
    }
    let kept = format!("{}-{}.md", state.id, &Digest::of(old).as_str()[..12]);
    match Folder::create(workspace.paths.root(), STALE)?.create_new(&kept, old) {
        // The same version was stale before.
        Ok(()) | Err(StoreError::Exists { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    match atomic_write::replace_if(&lock, path, old, bytes) {
        // A person or a checkout was faster.
        Err(StoreError::Changed { .. }) => return Ok(true),
        replaced => replaced?,
    }
    workspace.warn(format!(
        "`{path}` was an earlier version of the task: your edits are in HEAD's version now, and the old file is `{STALE}/{kept}`"
    ));
    Ok(true)
}

/// Carries out the steps that `decide` returns for different tasks: as many as possible in one move of the branch, the others alone.
/// Fails with an error that every task would have; the remaining tasks are not tried then.
pub(crate) fn apply_together(
    workspace: &Workspace,
    tasks: &[&TaskId],
    dry_run: DryRun,
    decide: &mut DecideByIndex<'_>,
    receive: &mut ReceiveResult<'_>,
) -> Result<(), ProjectError> {
    let mut alone = Vec::new();
    if tasks.len() == 1 || dry_run == DryRun::Yes {
        alone.extend(0..tasks.len());
    } else {
        recover::recover_if_pending(workspace)?;
        let head = workspace.head()?;
        let in_force = Rc::new(in_force(workspace, &head)?);
        let (mut places, mut chosen) = (Vec::<usize>::new(), Vec::new());
        for (place, task) in tasks.iter().enumerate() {
            if places.iter().any(|other| tasks[*other] == *task) {
                alone.push(place);
                continue;
            }
            let read = TaskState::read_under(workspace, task, head.clone(), Rc::clone(&in_force));
            if read.as_ref().is_ok_and(|state| matches!(state.pending, Pending::Stale(_))) {
                alone.push(place);
                continue;
            }
            let decided = read.and_then(|mut state| {
                ensure_not_dropped(workspace, &state)?;
                decide(workspace, place, &mut state).map(|next| (state, next))
            });
            match decided {
                Ok((state, NextStep::Do(choice))) => {
                    places.push(place);
                    chosen.push((state, choice));
                }
                Ok((_, NextStep::First(_))) => alone.push(place),
                Ok((_, NextStep::Nothing)) => receive(place, Ok(None)),
                Err(error) if error.is_general() => return Err(error),
                Err(error) => receive(place, Err(error)),
            }
        }
        let results = carry_out_together(workspace, &head, chosen)?;
        for (place, result) in places.into_iter().zip(results) {
            match result {
                Ok(None) => alone.push(place),
                Err(error) if error.is_general() => return Err(error),
                result => receive(place, result),
            }
        }
    }
    for place in alone {
        match apply(workspace, tasks[place], dry_run, &mut |state| decide(workspace, place, state))
        {
            Err(error) if error.is_general() => return Err(error),
            result => receive(place, result),
        }
    }
    Ok(())
}

/// Carries out the steps that `decide` returns for any number of tasks, in batches. After each batch, `pause` gets the time that the
/// batch took (zero if it changed nothing), and returns whether to continue.
pub(crate) fn apply_in_batches(
    workspace: &mut Workspace,
    wait: Duration,
    tasks: &[&TaskId],
    dry_run: DryRun,
    decide: &mut DecideByIndex<'_>,
    receive: &mut ReceiveResult<'_>,
    pause: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<(), ProjectError> {
    for (number, batch) in tasks.chunks(BATCH_SIZE).enumerate() {
        let (start, first) = (Instant::now(), number * BATCH_SIZE);
        workspace.restart_wait(wait);
        let mut is_idle = true;
        apply_together(
            workspace,
            batch,
            dry_run,
            &mut |workspace, place, state| decide(workspace, first + place, state),
            &mut |place, result| {
                is_idle &= matches!(result, Ok(None));
                receive(first + place, result);
            },
        )?;
        if pause(if is_idle { Duration::ZERO } else { start.elapsed() }).is_break() {
            break;
        }
    }
    Ok(())
}

/// Changes tasks, each as [`change`] does. Tries all of them, then fails with the first error.
pub(crate) fn change_all(
    workspace: &mut Workspace,
    wait: Duration,
    tasks: &[TaskId],
    decide: &dyn Fn(&TaskState) -> Result<Choice, ProjectError>,
) -> Result<(), ProjectError> {
    let mut first = Ok(());
    let tasks: Vec<&TaskId> = tasks.iter().collect();
    let decide = &mut |workspace: &Workspace, _: usize, state: &mut TaskState| {
        due_step_or(workspace, state, decide)
    };
    let receive = &mut |_, result: Result<_, ProjectError>| {
        if let (Ok(()), Err(error)) = (&first, result) {
            first = Err(error);
        }
    };
    let pause = &mut |_| ControlFlow::Continue(());
    apply_in_batches(workspace, wait, &tasks, DryRun::No, decide, receive, pause)?;
    first
}

/// Commits choices for different tasks that were read under the same HEAD. For each, returns the change, or its own error, or `None` if
/// the task must be retried alone. Fails with an error that every change would have.
pub(crate) fn carry_out_together(
    workspace: &Workspace,
    head: &Head,
    chosen: Vec<(TaskState, Choice)>,
) -> Result<Vec<Result<Option<Changed>, ProjectError>>, ProjectError> {
    let mut results = Vec::with_capacity(chosen.len());
    let mut writes = Vec::new();
    let mut snapshots = Vec::new();
    for (place, (state, choice)) in chosen.into_iter().enumerate() {
        match plan(workspace, &state, choice) {
            Ok(plan) => {
                if let Some(write) = plan.write {
                    writes.push((place, write));
                    snapshots.push(state.snapshot);
                }
                results.push(Ok(Some(plan.changed)));
            }
            Err(error) => results.push(Err(error)),
        }
    }
    if writes.is_empty() {
        return Ok(results);
    }
    let (lock, recovered) = recover::lock_recovered(workspace)?;
    let moved = recovered || workspace.head_now().ok().as_ref() != Some(head);
    let mut current = Vec::new();
    let mut places = Vec::new();
    for ((place, write), snapshot) in writes.into_iter().zip(snapshots) {
        match snapshot.is_current(&workspace.paths) {
            Ok(true) if !moved => {
                places.push(place);
                current.push(write);
            }
            Ok(_) => results[place] = Ok(None),
            Err(error) => results[place] = Err(error.into()),
        }
    }
    if current.is_empty() {
        return Ok(results);
    }
    match commit(workspace, &lock, head, &current) {
        Ok(commits) => {
            for (place, commit) in places.into_iter().zip(commits) {
                if let Ok(Some(changed)) = &mut results[place] {
                    changed.commit = Some(commit);
                }
            }
        }
        Err(error) if error.is_general() => return Err(error),
        Err(_) => {
            // A task whose commit cannot be prepared gets its error; the others are retried alone.
            for (place, write) in places.into_iter().zip(&current) {
                results[place] = match prepare(workspace, head, slice::from_ref(write)) {
                    Ok(_) => Ok(None),
                    Err(error) if error.is_general() => return Err(error),
                    Err(error) => Err(error),
                };
            }
        }
    }
    Ok(results)
}

/// Commits writes that were decided on that HEAD. Returns `None` if the branch or a file changed since: the caller decides again.
pub(crate) fn commit_unless_changed(
    workspace: &Workspace,
    head: &Head,
    writes: &[Write],
    is_current: impl FnOnce() -> Result<bool, ProjectError>,
) -> Result<Option<Vec<CommitId>>, ProjectError> {
    let (lock, recovered) = recover::lock_recovered(workspace)?;
    if recovered || !is_current()? {
        return Ok(None);
    }
    let is_new = writes.iter().all(|write| write.id.is_none() || write.from.is_none());
    match commit(workspace, &lock, head, writes) {
        Ok(commits) => Ok(Some(commits)),
        // Git's own lock repeats the comparison. If a git operation has begun, reading the branch again waits for it.
        Err(
            ProjectError::Git(GitError::Moved { .. } | GitError::Waiting { .. })
            | ProjectError::Store(StoreError::Changed { .. }),
        ) => Ok(None),
        // Another process took the file name or the id of the new task; or a person's git moved the task meanwhile.
        Err(ProjectError::Store(StoreError::Exists { .. } | StoreError::Gone { .. }))
            if is_new || workspace.head_now().ok().as_ref() != Some(head) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Commits writes of different tasks in one move of the branch; each version is a commit. Returns the last commit of each write.
pub(crate) fn commit(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    writes: &[Write],
) -> Result<Vec<CommitId>, ProjectError> {
    let FailedWrite { error, rollback } =
        match publish(workspace, lock, head, writes, RecoveryAim::Undo) {
            Ok(commits) => return Ok(commits),
            Err(failed) => *failed,
        };
    match rollback {
        None if matches!(error, ProjectError::Store(StoreError::NotDurable { .. })) => {}
        // The index moves before the branch. If recovery fails now, the record stays for the next command; the reason why the commit
        // failed is the error that counts.
        None => drop(recover::recover(workspace, lock)),
        // Recovery repeats the rollback now; if that fails, the next command repeats it.
        Some(FailedRollback { noted: true, .. }) if recover::recover(workspace, lock).is_ok() => {}
        // Without the mark, recovery would finish the write instead: the error reports that.
        Some(FailedRollback { fault, noted }) => {
            let (failure, fault) = (Some(Box::new(error)), Box::new(ProjectError::from(fault)));
            return Err(ProjectError::RestoreFailed { failure, fault, noted });
        }
    }
    Err(error)
}

/// Writes all files or none, and commits exactly them, in one commit of git's user. Returns `None` if the branch moved.
pub(crate) fn commit_files(
    workspace: &Workspace,
    head: &Head,
    files: &[PlainFile],
    message: &str,
) -> Result<Option<CommitId>, ProjectError> {
    let Some((first, others)) = files.split_first() else { return Ok(None) };
    let (bytes, authored) = (first.bytes.clone(), workspace.now());
    let versions = vec![TaskVersion { bytes, message: message.to_owned(), author: None, authored }];
    let write = Write {
        head_path: first.before.as_ref().map(|_| first.path.clone()),
        from: first.before.as_ref().map(|before| (first.path.clone(), before.clone())),
        plain_files: others.to_vec(),
        ..Write::of_new_file(None, first.path.clone(), versions)
    };
    let is_current = || Ok(workspace.head_now().ok().as_ref() == Some(head));
    let commits = commit_unless_changed(workspace, head, &[write], is_current)?;
    Ok(commits.and_then(|commits| commits.last().copied()))
}

/// Writes new files without a commit. Returns `false` if one exists by now: another process was faster, and the caller checks again.
pub(crate) fn write_new(workspace: &Workspace, files: &[PlainFile]) -> Result<bool, ProjectError> {
    let (lock, _) = recover::lock_recovered(workspace)?;
    for (made, file) in files.iter().enumerate() {
        let Err(error) = atomic_write::create_new(&lock, &file.path, &file.bytes) else { continue };
        for earlier in &files[..made] {
            atomic_write::remove_if(&lock, &earlier.path, &earlier.bytes)?;
        }
        return match error {
            StoreError::Exists { .. } => Ok(false),
            error => Err(error.into()),
        };
    }
    Ok(true)
}
