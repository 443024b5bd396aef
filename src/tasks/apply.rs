//! The one way a task changes on disk: a task is read, decided, and the change is carried out under the lock.
//!
//! ```text
//!   read and decide     no lock held; a refusal ends here
//!   lock                the writer lock; what a crash left is healed; unchanged since it was read? else from the start
//!   prepare             objects of the commits, under temporary names    kill: temporary files, which git sweeps
//!   intent              `.aof/intent` names the files and git's locks    kill: the record, nothing else
//!   stage               the files under temporary names; the record synced, then they and the objects   kill: temporary files, swept by `heal`
//!   write               the files, each replaced whole                   kill: files ahead of HEAD -> committed by `heal`
//!   commit              the branch and the index move                    <- the commit point
//!   sync                the folders of the files and of the branch       power cut: some old, some new -> brought forward by `heal`
//!   settle              the old file of a moved task goes, the intent is blanked   kill: both are cleared by `heal`
//! ```
//! If the commit fails, the files are put back as they were. Before that the record is noted to be undone: if putting back fails as
//! well, `heal` does it, and commits nothing of a change that was reported as failed.
//!
//! Several tasks may change together: each has a commit of its own, but there is one pack, one move of the branch and one patch of
//! the index. A task that fails in the batch is tried alone, so its error is known to be its own.

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
use crate::tasks::publish::{Failed, Stuck, drafts, prepare, publish};
use crate::tasks::recovery::recover;
use crate::tasks::state::task_state::{Pending, TaskState, TaskVersion};
use crate::tasks::write::{Beside, Write, look_in_the_way};

/// How often an operation starts again because another process was faster; it goes on as long as it may wait for a lock.
const ATTEMPTS: usize = 100;

/// How many changes go together at most: more gains little, and others wait for the lock meanwhile.
pub(crate) const MOST: usize = 50;

/// What an operation does with a task that was read.
pub(crate) enum NextStep {
    /// Nothing.
    Nothing,
    /// This first; then the task is read again, and the operation decides again.
    First(Choice),
    Do(Choice),
}

/// Decides what an operation does with a task that was read, again whenever another process was faster.
pub(crate) type Decide<'d> = dyn FnMut(&mut TaskState) -> Result<NextStep, ProjectError> + 'd;

/// Decides the same for the task of that index.
pub(crate) type DecideEach<'d> =
    dyn FnMut(&Workspace, usize, &mut TaskState) -> Result<NextStep, ProjectError> + 'd;

/// Receives the result for the task of that index; nothing where nothing was to be done.
pub(crate) type Each<'e> = dyn FnMut(usize, Result<Option<Changed>, ProjectError>) + 'e;

/// Changes a task that is not frozen. What is due with it is done first: adoption, and what automatic gates or changed rules want.
pub(crate) fn change(
    workspace: &Workspace,
    id: &TaskId,
    dry_run: DryRun,
    decide: &mut dyn FnMut(&TaskState) -> Result<Choice, ProjectError>,
) -> Result<Changed, ProjectError> {
    let changed =
        apply(workspace, id, dry_run, &mut |state| due_or(workspace, state, &mut *decide))?;
    changed.ok_or_else(|| ProjectError::Restless { id: id.clone() })
}

/// Decides what is done with a task that is not frozen: what is due first, if anything is, else what `decide` says.
pub(crate) fn due_or(
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

/// Does with a task what `decide` says. Returns nothing if that was nothing.
pub(crate) fn apply(
    workspace: &Workspace,
    id: &TaskId,
    dry_run: DryRun,
    decide: &mut Decide<'_>,
) -> Result<Option<Changed>, ProjectError> {
    if dry_run == DryRun::Yes {
        workspace.check_own_folder()?;
        let Some(planned) = planned(workspace, id, decide)? else { return Ok(None) };
        planned.rehearse(workspace)?;
        return Ok(Some(planned.changed));
    }
    let mut warnings = Vec::new();
    for attempt in 1.. {
        if attempt > ATTEMPTS && Instant::now() >= workspace.deadline() {
            break;
        }
        recover::heal_if_pending(workspace)?;
        let mut state = TaskState::read(workspace, id)?;
        if replace_stale_file(workspace, &state)? {
            continue;
        }
        let (choice, is_first) = match decide(&mut state)? {
            NextStep::Nothing => return Ok(None),
            NextStep::First(choice) => (choice, true),
            NextStep::Do(choice) => (choice, false),
        };
        if let Some(mut changed) = carry_out(workspace, &state, choice)? {
            warnings.append(&mut changed.warnings);
            if !is_first {
                return Ok(Some(Changed { warnings, ..changed }));
            }
        }
    }
    Err(ProjectError::Restless { id: id.clone() })
}

/// A change that is not carried out.
pub(crate) struct Planned {
    pub changed: Changed,
    head: Head,
    /// What would be written: what is due first, then the change itself.
    writes: Vec<Write>,
}

impl Planned {
    /// Fails where the change could not be committed, as far as that can be told without the lock.
    pub(crate) fn rehearse(&self, workspace: &Workspace) -> Result<(), ProjectError> {
        if self.writes.is_empty() {
            return Ok(());
        }
        look_in_the_way(&workspace.paths, &self.writes)?;
        Ok(workspace.repository.rehearse(&self.head, &drafts(workspace, &self.writes)?)?)
    }
}

/// Returns what a change would come to. Writes nothing, and does not check whether it could be committed.
pub(crate) fn planned(
    workspace: &Workspace,
    id: &TaskId,
    decide: &mut Decide<'_>,
) -> Result<Option<Planned>, ProjectError> {
    recover::heal_if_pending(workspace)?;
    let mut state = TaskState::read(workspace, id)?;
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
            return Ok(Some(Planned { changed, head: state.head, writes }));
        }
        state.file = changed.after;
    }
}

/// Carries a choice out; returns nothing if the task or the branch changed since they were read.
fn carry_out(
    workspace: &Workspace,
    state: &TaskState,
    choice: Choice,
) -> Result<Option<Changed>, ProjectError> {
    let plan = plan(workspace, state, choice)?;
    let Some(write) = plan.write else { return Ok(Some(plan.changed)) };
    let read = &state.snapshot;
    // What is replaced is compared again as late as possible, so for that it is enough that the system sees no difference.
    let replaced = write.to == read.path && write.bytes() != read.bytes;
    let is_current = || {
        let paths = &workspace.paths;
        Ok(replaced && read.seems_current(paths) || read.is_current(paths)?)
    };
    let commits =
        commit_unless_changed(workspace, &state.head, slice::from_ref(&write), is_current)?;
    Ok(commits.map(|commits| Changed { commit: commits.last().copied(), ..plan.changed }))
}

/// Replaces a stale task file by HEAD's version with the person's edits in it, and keeps the old bytes in `.aof/stale/`. Returns whether
/// the task has to be read again.
fn replace_stale_file(workspace: &Workspace, state: &TaskState) -> Result<bool, ProjectError> {
    let Pending::Stale(bytes) = &state.pending else { return Ok(false) };
    let (path, old) = (&state.snapshot.path, &state.snapshot.bytes);
    let lock = workspace.lock()?;
    if recover::heal(workspace, &lock)? || !state.snapshot.is_current(&workspace.paths)? {
        return Ok(true);
    }
    let kept = format!("{}-{}.md", state.id, &Digest::of(old).as_str()[..12]);
    match Folder::create(workspace.paths.root(), STALE)?.create_new(&kept, old) {
        // The same version was stale before.
        Ok(()) | Err(StoreError::Exists { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    atomic_write::replace_if(&lock, path, old, bytes)?;
    workspace.warn(format!(
        "`{path}` was an earlier version of the task: your edits are in HEAD's version now, and the old file is `{STALE}/{kept}`"
    ));
    Ok(true)
}

/// Does with different tasks what `decide` says: as many as possible in one move of the branch, the others alone. An error that every
/// task would meet ends it; the rest is not tried then.
pub(crate) fn apply_together(
    workspace: &Workspace,
    tasks: &[&TaskId],
    dry_run: DryRun,
    decide: &mut DecideEach<'_>,
    each: &mut Each<'_>,
) -> Result<(), ProjectError> {
    let mut alone = Vec::new();
    if tasks.len() == 1 || dry_run == DryRun::Yes {
        alone.extend(0..tasks.len());
    } else {
        recover::heal_if_pending(workspace)?;
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
                decide(workspace, place, &mut state).map(|next| (state, next))
            });
            match decided {
                Ok((state, NextStep::Do(choice))) => {
                    places.push(place);
                    chosen.push((state, choice));
                }
                Ok((_, NextStep::First(_))) => alone.push(place),
                Ok((_, NextStep::Nothing)) => each(place, Ok(None)),
                Err(error) if error.is_general() => return Err(error),
                Err(error) => each(place, Err(error)),
            }
        }
        let results = carry_out_together(workspace, &head, chosen)?;
        for (place, result) in places.into_iter().zip(results) {
            match result {
                Ok(None) => alone.push(place),
                Err(error) if error.is_general() => return Err(error),
                result => each(place, result),
            }
        }
    }
    for place in alone {
        match apply(workspace, tasks[place], dry_run, &mut |state| decide(workspace, place, state))
        {
            Err(error) if error.is_general() => return Err(error),
            result => each(place, result),
        }
    }
    Ok(())
}

/// Does the same with any number of tasks, in batches. `rest` is called between batches with how long one took, zero where it changed
/// nothing, and says whether to go on.
pub(crate) fn apply_in_batches(
    workspace: &mut Workspace,
    wait: Duration,
    tasks: &[&TaskId],
    dry_run: DryRun,
    decide: &mut DecideEach<'_>,
    each: &mut Each<'_>,
    rest: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<(), ProjectError> {
    for (number, batch) in tasks.chunks(MOST).enumerate() {
        let (start, first) = (Instant::now(), number * MOST);
        workspace.restart_wait(wait);
        let mut is_idle = true;
        apply_together(
            workspace,
            batch,
            dry_run,
            &mut |workspace, place, state| decide(workspace, first + place, state),
            &mut |place, result| {
                is_idle &= matches!(result, Ok(None));
                each(first + place, result);
            },
        )?;
        if rest(if is_idle { Duration::ZERO } else { start.elapsed() }).is_break() {
            break;
        }
    }
    Ok(())
}

/// Changes tasks that are not frozen. Returns the first error that one of them met, once all were tried.
pub(crate) fn change_all(
    workspace: &mut Workspace,
    wait: Duration,
    tasks: &[TaskId],
    choose: &dyn Fn(&TaskState) -> Result<Choice, ProjectError>,
) -> Result<(), ProjectError> {
    let mut first = Ok(());
    let tasks: Vec<&TaskId> = tasks.iter().collect();
    let decide = &mut |workspace: &Workspace, _: usize, state: &mut TaskState| {
        due_or(workspace, state, choose)
    };
    let each = &mut |_, result: Result<_, ProjectError>| {
        if let (Ok(()), Err(error)) = (&first, result) {
            first = Err(error);
        }
    };
    let rest = &mut |_| ControlFlow::Continue(());
    apply_in_batches(workspace, wait, &tasks, DryRun::No, decide, each, rest)?;
    first
}

/// Carries out choices for different tasks, all read under the same HEAD. Each comes back with what was changed, with its own
/// error, or with nothing: then it has to be tried alone. An error of the whole is one that every change would meet.
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
    let lock = workspace.lock()?;
    let moved = recover::heal(workspace, &lock)? || workspace.head()? != *head;
    let mut going = Vec::new();
    let mut places = Vec::new();
    for ((place, write), snapshot) in writes.into_iter().zip(snapshots) {
        match snapshot.is_current(&workspace.paths) {
            Ok(true) if !moved => {
                places.push(place);
                going.push(write);
            }
            Ok(_) => results[place] = Ok(None),
            Err(error) => results[place] = Err(error.into()),
        }
    }
    if going.is_empty() {
        return Ok(results);
    }
    match commit(workspace, &lock, head, &going) {
        Ok(commits) => {
            for (place, commit) in places.into_iter().zip(commits) {
                if let Ok(Some(changed)) = &mut results[place] {
                    changed.commit = Some(commit);
                }
            }
        }
        Err(error) if error.is_general() => return Err(error),
        Err(_) => {
            // Whoever cannot be written at all is told so; the others may go without.
            for (place, write) in places.into_iter().zip(&going) {
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

/// Commits writes that were decided on that HEAD. Returns nothing where the branch, or a file, is not what it was then: it has to be
/// decided anew.
pub(crate) fn commit_unless_changed(
    workspace: &Workspace,
    head: &Head,
    writes: &[Write],
    is_current: impl FnOnce() -> Result<bool, ProjectError>,
) -> Result<Option<Vec<CommitId>>, ProjectError> {
    let lock = workspace.lock()?;
    if recover::heal(workspace, &lock)? || !is_current()? {
        return Ok(None);
    }
    let is_new = writes.iter().all(|write| write.id.is_none() || write.from.is_none());
    match commit(workspace, &lock, head, writes) {
        Ok(commits) => Ok(Some(commits)),
        // What was read is looked at once more under git's own lock. Whatever git is in the middle of by now is waited for when
        // the branch is read again.
        Err(
            ProjectError::Git(GitError::Moved { .. } | GitError::Waiting { .. })
            | ProjectError::Store(StoreError::Changed { .. }),
        ) => Ok(None),
        // A name, or the id of a new task, was taken in the meantime.
        Err(ProjectError::Store(StoreError::Exists { .. } | StoreError::Gone { .. })) if is_new => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Commits writes of different tasks, each version a commit of its own, in one move of the branch. Returns the last commit of
/// each write.
pub(crate) fn commit(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    writes: &[Write],
) -> Result<Vec<CommitId>, ProjectError> {
    let Failed { error, stuck } = match publish(workspace, lock, head, writes, RecoveryAim::Undo) {
        Ok(commits) => return Ok(commits),
        Err(failed) => *failed,
    };
    match stuck {
        None if matches!(error, ProjectError::Store(StoreError::NotDurable { .. })) => {}
        // The index may have moved before the branch could not. If that cannot be healed now the record stays, and the next
        // command heals it; what is told is why the commit failed.
        None => drop(recover::heal(workspace, lock)),
        // It is tried once more, and by whoever comes next.
        Some(Stuck { noted: true, .. }) if recover::heal(workspace, lock).is_ok() => {}
        // Without the note it would be finished: so it is only told that somebody will do that.
        Some(Stuck { fault, noted }) => {
            let (failure, fault) = (Some(Box::new(error)), Box::new(ProjectError::from(fault)));
            return Err(ProjectError::NotPutBack { failure, fault, noted });
        }
    }
    Err(error)
}

/// Writes the files, all of them or none, and commits exactly them, in one commit of git's user.
pub(crate) fn commit_files(
    workspace: &Workspace,
    head: &Head,
    files: &[Beside],
    message: &str,
) -> Result<Option<CommitId>, ProjectError> {
    let Some((first, beside)) = files.split_first() else { return Ok(None) };
    let (bytes, authored) = (first.bytes.clone(), workspace.now());
    let versions = vec![TaskVersion { bytes, message: message.to_owned(), author: None, authored }];
    let write = Write {
        head_path: first.before.as_ref().map(|_| first.path.clone()),
        from: first.before.as_ref().map(|before| (first.path.clone(), before.clone())),
        beside: beside.to_vec(),
        ..Write::of_new_file(None, first.path.clone(), versions)
    };
    let is_current = || Ok(workspace.head()? == *head);
    let commits = commit_unless_changed(workspace, head, &[write], is_current)?;
    Ok(commits.and_then(|commits| commits.last().copied()))
}

/// Writes new files and commits nothing. Returns whether it did: else another process was faster, and the caller looks again.
pub(crate) fn write_new(workspace: &Workspace, files: &[Beside]) -> Result<bool, ProjectError> {
    let lock = workspace.lock()?;
    recover::heal(workspace, &lock)?;
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
