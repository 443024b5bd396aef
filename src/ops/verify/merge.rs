//! A merge: what both sides changed is as merging it again by the rules makes it; everything else is as one side had it, and no
//! side loses what it had.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::finding::{Broken, Wrong};
use super::judge::{Judge, Judged, is_new, longest};
use super::signed;
use super::words::{named, short};
use crate::audit::{CommitId, LogEntry, trailers};
use crate::engine::merge::Merged;
use crate::engine::stands_alike;
use crate::model::{Task, TaskId};
use crate::ops::error::OpsError;
use crate::ops::merge::Pair;
use crate::ops::merge_driver::superseded_trailer;
use crate::ops::touched::{Touched, touched};

pub(super) fn of(judge: &mut Judge<'_>, entry: &LogEntry) -> Result<Judged, OpsError> {
    let mut judged = Judged::default();
    let mut sides: BTreeMap<TaskId, Vec<(CommitId, Touched)>> = BTreeMap::new();
    for parent in entry.parents.iter().filter(|parent| judge.workspace.repository.has_commit(**parent)) {
        for (id, own) in touched(&judge.workspace.repository.changed_between(*parent, entry.id)?) {
            sides.entry(id).or_default().push((*parent, own));
        }
    }
    let again = Again::of(judge, entry)?;
    for (id, sides) in sides {
        judged.changes += 1;
        judged.wrong.extend(signatures(judge, entry, &id, &sides)?);
        if let Some(found) = again.judge(judge, entry, &id, &sides)? {
            judged.wrong.extend(found);
            continue;
        }
        let Some((expected, found)) = task(judge, entry, &id, &sides)? else { continue };
        judged.wrong.push(Wrong::new(entry, Some(&id), Broken::LostInMerge, expected, found));
    }
    Ok(judged)
}

/// Returns what is wrong with the signatures of entries that no side had: those that were decided anew.
fn signatures(
    judge: &mut Judge<'_>,
    entry: &LogEntry,
    id: &TaskId,
    sides: &[(CommitId, Touched)],
) -> Result<Vec<Wrong>, OpsError> {
    if sides.len() < entry.parents.len() {
        return Ok(Vec::new());
    }
    let rules = judge.rules(entry)?;
    let Some((_, new)) = sides.iter().find_map(|(_, own)| own.after.first()) else { return Ok(Vec::new()) };
    let Some(after) = judge.read(&rules, entry, id, *new)? else { return Ok(Vec::new()) };
    let mut had = Vec::new();
    for (_, content) in sides.iter().flat_map(|(_, own)| &own.before) {
        had.extend(judge.read(&rules, entry, id, *content)?);
    }
    let is_new = |place: &usize| had.iter().all(|task| !task.history.contains(&after.history[*place]));
    Ok(signed::of_entries(judge.anchor, (&rules, entry), id, &after, (0..after.history.len()).filter(is_new)))
}

/// What a merge of two commits has to decide, from each of the commits at which they parted.
struct Again(Vec<BTreeMap<TaskId, Pair>>);

impl Again {
    fn of(judge: &mut Judge<'_>, entry: &LogEntry) -> Result<Self, OpsError> {
        let [ours, theirs] = entry.parents[..] else { return Ok(Self(Vec::new())) };
        let repository = &judge.workspace.repository;
        if !repository.has_commit(ours) || !repository.has_commit(theirs) {
            return Ok(Self(Vec::new()));
        }
        let bases = repository.merge_bases(ours, theirs)?;
        bases.into_iter().map(|base| judge.pairs(entry, base, (ours, theirs))).collect::<Result<_, _>>().map(Self)
    }

    /// Judges a task that both sides changed; nothing where that is not so, or the two cannot be merged by the rules.
    fn judge(
        &self,
        judge: &mut Judge<'_>,
        entry: &LogEntry,
        id: &TaskId,
        sides: &[(CommitId, Touched)],
    ) -> Result<Option<Vec<Wrong>>, OpsError> {
        let rules = judge.rules(entry)?;
        let Some((_, new)) = sides.iter().find_map(|(_, own)| own.after.first()) else { return Ok(None) };
        let Some(after) = judge.read(&rules, entry, id, *new)? else { return Ok(None) };
        let pairs = self.0.iter().filter_map(|pairs| pairs.get(id));
        let all: Vec<Merged> = pairs.filter_map(|pair| pair.merged(&rules, &after)).collect();
        let Some(first) = all.first() else { return Ok(None) };
        let Some(merged) = all.iter().find(|merged| stands_alike(&merged.task, &after)) else {
            let (expected, found) = (stands(&first.task), stands(&after));
            let (expected, found) = if expected == found {
                (format!("{expected}, as the rules merge it"), "something else of what the engine keeps".to_owned())
            } else {
                (expected, found)
            };
            return Ok(Some(vec![Wrong::new(entry, Some(id), Broken::LostInMerge, expected, found)]));
        };
        let said = trailers::parse(&entry.message);
        let untold = merged.superseded.iter().filter_map(superseded_trailer).filter(|own| !said.contains(own));
        let found = "no trailer that says so".to_owned();
        let wrong =
            untold.map(|own| Wrong::new(entry, Some(id), Broken::Untold, short(&own.to_string()), found.clone()));
        Ok(Some(wrong.collect()))
    }
}

/// Says where a task stands, and with how long a history.
fn stands(task: &Task) -> String {
    let at = task.gate.as_ref().map_or_else(String::new, |open| format!(" at {}", open.current));
    let by = task.history.last().map_or_else(String::new, |visit| format!(", the last one {}", named(visit)));
    short(&format!("{}{at}, with {} entries{by}", task.status, task.history.len()))
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
