//! Changes of several tasks at once: a commit each, but one pack, one move of the branch and one patch of the index for all.
//!
//! What cannot go with the others is handed back, to be tried alone: then it is known whose trouble it is.

use std::rc::Rc;
use std::slice;
use std::time::Duration;

use super::change::{Changed, Choice, DryRun, change, plan};
use super::commit::{commit, prepare};
use crate::domain::TaskId;
use crate::files::task_file::Origin;
use crate::git::Head;
use crate::project::active_rules::in_force;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::owed;
use crate::tasks::recovery::recover;
use crate::tasks::state::task_state::Standing;

/// How many changes go together at most: more hardly pays, and others wait for the lock meanwhile.
pub(crate) const MOST: usize = 50;

/// Changes tasks, as many as can in one move of the branch. `choose` says what is to be done with which, and may be asked again;
/// `each` is told what became of it. Those it is not told of when there is trouble that all would meet have not been tried.
pub(crate) fn change_together(
    workspace: &mut Workspace,
    wait: Duration,
    tasks: &[&TaskId],
    choose: &mut dyn FnMut(&Workspace, usize, &Standing) -> Result<Choice, OpsError>,
    each: &mut dyn FnMut(usize, Result<Changed, OpsError>),
) -> Result<(), OpsError> {
    workspace.restart_wait(wait);
    let mut alone = Vec::new();
    if let [_] = tasks {
        alone.push(0);
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
            let standing =
                Standing::read_under(workspace, task, head.clone(), Rc::clone(&in_force));
            match standing.and_then(Standing::thawed) {
                // It is adopted or goes on first, in a commit of its own.
                Ok(standing) if is_due_first(&standing) => alone.push(place),
                Ok(standing) => match choose(workspace, place, &standing) {
                    Ok(choice) => {
                        places.push(place);
                        chosen.push((standing, choice));
                    }
                    Err(error) => each(place, Err(error)),
                },
                Err(error) => each(place, Err(error)),
            }
        }
        for (place, result) in places.into_iter().zip(carry_out_together(workspace, &head, chosen)?)
        {
            match result {
                Ok(Some(changed)) => each(place, Ok(changed)),
                Ok(None) => alone.push(place),
                Err(error) => each(place, Err(error)),
            }
        }
    }
    for place in alone {
        workspace.restart_wait(wait);
        let known = &*workspace;
        match change(known, tasks[place], DryRun::No, &mut |standing| {
            choose(known, place, standing)
        }) {
            Err(error) if error.is_general() => return Err(error),
            result => each(place, result),
        }
    }
    Ok(())
}

/// Returns whether something has to be done with the task before anything else can be.
pub(crate) fn is_due_first(standing: &Standing) -> bool {
    let file = &standing.file;
    file.origin == Origin::HandMade || owed(&standing.in_force.rules, &file.task).is_some()
}

/// Carries out choices for different tasks, all read under the same HEAD. Each comes back with what was changed, with its own
/// error, or with nothing: then it has to be tried alone. An error of the whole is one that every change would meet.
pub(crate) fn carry_out_together(
    workspace: &Workspace,
    head: &Head,
    chosen: Vec<(Standing, Choice)>,
) -> Result<Vec<Result<Option<Changed>, OpsError>>, OpsError> {
    let mut results = Vec::with_capacity(chosen.len());
    let mut writes = Vec::new();
    let mut snapshots = Vec::new();
    for (place, (standing, choice)) in chosen.into_iter().enumerate() {
        match plan(workspace, &standing, choice) {
            Ok(plan) => {
                if let Some(write) = plan.write {
                    writes.push((place, write));
                    snapshots.push(standing.snapshot);
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
