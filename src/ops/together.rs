//! Changes of several tasks at once: a commit each, but one pack, one move of the branch and one patch of the index for all.
//!
//! What cannot go with the others is handed back, to be tried alone: then it is known whose trouble it is.

use super::error::OpsError;
use super::heal;
use super::standing::Standing;
use super::transaction::{Changed, Choice, commit, plan};
use super::workspace::Workspace;
use crate::audit::Head;

/// How many changes go together at most: more hardly pays, and others wait for the lock meanwhile.
pub(super) const MOST: usize = 50;

/// Carries out choices for different tasks, all read under the same HEAD. Each comes back with what was changed, with its own
/// error, or with nothing: then it has to be tried alone. An error of the whole is one that every change would meet.
pub(super) fn carry_out_together(
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
    let moved = heal::heal(workspace, &lock)? || workspace.head()? != *head;
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
        Err(_) => places.into_iter().for_each(|place| results[place] = Ok(None)),
    }
    Ok(results)
}
