//! Changes of several tasks at once: a commit each, but one pack, one move of the branch and one patch of the index for all.
//!
//! What cannot go with the others is handed back, to be tried alone: then it is known whose trouble it is.

use std::rc::Rc;
use std::slice;
use std::time::Duration;

use super::change::{NextStep, apply, due_or};
use super::commit::commit;
use crate::domain::TaskId;
use crate::git::Head;
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::plan::choice::{Changed, Choice, DryRun, plan};
use crate::tasks::publish::commit::prepare;
use crate::tasks::recovery::recover;
use crate::tasks::state::task_state::{Pending, TaskState};

/// Decides what is done with the task of that index.
pub(crate) type DecideEach<'d> =
    dyn FnMut(&Workspace, usize, &mut TaskState) -> Result<NextStep, ProjectError> + 'd;

/// How many changes go together at most: more hardly pays, and others wait for the lock meanwhile.
pub(crate) const MOST: usize = 50;

/// Does with different tasks what `decide` says, as many as can in one move of the branch; the others alone. `each` is told what
/// became of which, and nothing where nothing was to be done. An error that every task would meet ends it: the rest was not tried.
pub(crate) fn apply_together(
    workspace: &Workspace,
    tasks: &[&TaskId],
    dry_run: DryRun,
    decide: &mut DecideEach<'_>,
    each: &mut dyn FnMut(usize, Result<Option<Changed>, ProjectError>),
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
                Ok(Some(changed)) => each(place, Ok(Some(changed))),
                Ok(None) => alone.push(place),
                Err(error) if error.is_general() => return Err(error),
                Err(error) => each(place, Err(error)),
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

/// Changes tasks that nobody froze. Returns the first error that one of them met, once all were tried.
pub(crate) fn change_all(
    workspace: &mut Workspace,
    wait: Duration,
    tasks: &[TaskId],
    choose: &dyn Fn(&TaskState) -> Result<Choice, ProjectError>,
) -> Result<(), ProjectError> {
    let mut first = Ok(());
    for batch in tasks.chunks(MOST) {
        workspace.restart_wait(wait);
        let tasks: Vec<&TaskId> = batch.iter().collect();
        let decide = &mut |workspace: &Workspace, _: usize, state: &mut TaskState| {
            due_or(workspace, state, choose)
        };
        apply_together(workspace, &tasks, DryRun::No, decide, &mut |_, result| {
            if let (Ok(()), Err(error)) = (&first, result) {
                first = Err(error);
            }
        })?;
    }
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
