//! A merge: each task is as one side had it, and no side loses what it had.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::finding::{Broken, Wrong};
use super::judge::{Judge, Judged, is_new, longest};
use super::touched::{Touched, touched};
use crate::audit::{CommitId, LogEntry};
use crate::engine::stands_alike;
use crate::model::{Task, TaskId};
use crate::ops::error::OpsError;

pub(super) fn of(judge: &mut Judge<'_>, entry: &LogEntry) -> Result<Judged, OpsError> {
    let mut judged = Judged::default();
    let mut sides: BTreeMap<TaskId, Vec<(CommitId, Touched)>> = BTreeMap::new();
    for parent in entry.parents.iter().filter(|parent| judge.workspace.repository.has_commit(**parent)) {
        for (id, own) in touched(&judge.workspace.repository.changed_between(*parent, entry.id)?) {
            sides.entry(id).or_default().push((*parent, own));
        }
    }
    for (id, sides) in sides {
        judged.changes += 1;
        let Some((expected, found)) = task(judge, entry, &id, &sides)? else { continue };
        judged.wrong.push(Wrong::new(entry, Some(&id), Broken::LostInMerge, expected, found));
    }
    Ok(judged)
}

/// Returns what is wrong with a task that is not as all sides had it, if anything is.
fn task(
    judge: &mut Judge<'_>,
    entry: &LogEntry,
    id: &TaskId,
    sides: &[(CommitId, Touched)],
) -> Result<Option<(String, String)>, OpsError> {
    let rules = judge.rules(entry)?;
    let mut after = None;
    let mut had: Vec<Rc<Task>> = Vec::new();
    for (side, own) in sides {
        if let Some((_, new)) = own.after.first() {
            after = judge.read(&rules, entry, id, *new)?;
        }
        let mut befores = Vec::new();
        for (_, old) in &own.before {
            befores.extend(judge.read(&rules, entry, id, *old)?);
        }
        let Some(before) = longest(befores).filter(|task| !is_new(task)) else { continue };
        let side = &side.to_string()[..7];
        match &after {
            None => {
                return Ok(Some((format!("the task, as commit {side} has it"), "none that can be read".to_owned())));
            }
            Some(after) if !after.history.starts_with(&before.history) => {
                let expected = format!("the {} entries that commit {side} has", before.history.len());
                return Ok(Some((expected, format!("{} entries, others", after.history.len()))));
            }
            Some(_) => had.push(before),
        }
    }
    let Some(after) = after.filter(|task| !is_new(task)) else { return Ok(None) };
    let as_one_side =
        sides.len() < entry.parents.len() || had.iter().any(|had| stands_alike(&timeless(had), &timeless(&after)));
    Ok((!as_one_side).then(|| ("the task as one side had it".to_owned(), "a state that no side had".to_owned())))
}

/// Returns the task as if nobody had noted when it was last changed: of two edits, either time will do.
fn timeless(task: &Task) -> Task {
    Task { updated: task.created, ..task.clone() }
}
