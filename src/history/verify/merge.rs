//! A merge: each task is as merging it again by the rules makes it, and no side loses what it had.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::again::Again;
use super::finding::{Broken, Wrong};
use super::judge::{Judge, Judged, is_new, longest};
use super::merge_claims;
use super::merge_rules;
use super::signed;
use super::text::{entries, named, short};
use crate::domain::{Task, TaskId};
use crate::git::log::trailers;
use crate::git::{CommitId, LogEntry};
use crate::history::merge_driver::message::superseded_trailer;
use crate::history::touched_tasks::{Touched, touched};
use crate::project::error::error::OpsError;
use crate::rules::stands_alike;

/// A task that a merge left otherwise than some of its parents had it.
struct Case<'c> {
    entry: &'c LogEntry,
    id: &'c TaskId,
    sides: &'c [(CommitId, Touched)],
    /// As those parents had it, as far as somebody had taken it up there.
    had: Vec<(CommitId, Rc<Task>)>,
    after: Rc<Task>,
}

pub(crate) fn of(judge: &mut Judge<'_>, entry: &LogEntry) -> Result<Judged, OpsError> {
    let mut judged = Judged::default();
    let mut all: BTreeMap<TaskId, Vec<(CommitId, Touched)>> = BTreeMap::new();
    for parent in
        entry.parents.iter().filter(|parent| judge.workspace.repository.has_commit(**parent))
    {
        for (id, own) in touched(&judge.workspace.repository.changed_between(*parent, entry.id)?) {
            all.entry(id).or_default().push((*parent, own));
        }
    }
    for (id, sides) in &mut all {
        if sides.iter().all(|(_, own)| own.after.is_empty()) {
            let left = judge.files.of(&judge.workspace.repository, entry.id, id)?;
            for (_, own) in sides {
                own.take_in(left);
            }
        }
    }
    let again = Again::of(judge, entry)?;
    let mut afters = BTreeMap::new();
    for (id, sides) in &all {
        judged.changes += 1;
        let had = had(judge, entry, id, sides)?;
        let first = had.first().map(|(side, _)| side.to_string()[..7].to_owned());
        let mut wrong = |broken, expected, found: &str| {
            judged.wrong.push(Wrong::new(entry, Some(id), broken, expected, found.to_owned()));
        };
        let Some((_, new)) = sides.iter().find_map(|(_, own)| own.after.first()) else {
            if let Some(side) = first {
                wrong(Broken::LostInMerge, format!("the task, as commit {side} has it"), "none");
            }
            continue;
        };
        let rules = judge.rules(entry)?;
        let Some(after) = judge.read(&rules, entry, id, *new)? else {
            if let Some(side) = first {
                let expected = format!("the task, as it comes of what commit {side} has");
                wrong(Broken::Unreadable, expected, "a file that cannot be read as a task");
            }
            continue;
        };
        afters.insert(id.clone(), Rc::clone(&after));
        let case = Case { entry, id, sides, had, after };
        judged.wrong.extend(case.signatures(judge, &again)?);
        judged.wrong.extend(case.said_by_hand(judge)?);
        judged.wrong.extend(case.state(judge, &again)?);
    }
    judged.wrong.extend(merge_rules::of(judge, entry, &again)?);
    judged.wrong.extend(merge_claims::of(judge, entry, &again, &afters)?);
    Ok(judged)
}

/// Returns what the merge makes of a task by the rules, where its file cannot be read; of several possibilities the one at which the
/// task stands now.
pub(crate) fn stood(
    judge: &mut Judge<'_>,
    entry: &LogEntry,
    id: &TaskId,
    now: &Task,
) -> Result<Option<Rc<Task>>, OpsError> {
    let all = Again::of(judge, entry)?.merged(judge, entry, id, now)?;
    // Which of two edits was the later one, the file does not say.
    let mut all: Vec<Task> =
        all.into_iter().map(|merged| Task { updated: now.updated, ..merged.task }).collect();
    let place = all.iter().position(|task| stands_alike(task, now)).unwrap_or_default();
    Ok((place < all.len()).then(|| Rc::new(all.swap_remove(place))))
}

fn had(
    judge: &mut Judge<'_>,
    entry: &LogEntry,
    id: &TaskId,
    sides: &[(CommitId, Touched)],
) -> Result<Vec<(CommitId, Rc<Task>)>, OpsError> {
    let rules = judge.rules(entry)?;
    let mut had = Vec::new();
    for (side, own) in sides {
        let mut befores = Vec::new();
        for (_, old) in &own.before {
            befores.extend(judge.read(&rules, entry, id, *old)?);
        }
        had.extend(longest(befores).filter(|task| !is_new(task)).map(|task| (*side, task)));
    }
    Ok(had)
}

impl Case<'_> {
    fn wrong(&self, (broken, expected, found): (Broken, String, String)) -> Wrong {
        Wrong::new(self.entry, Some(self.id), broken, expected, found)
    }

    /// Returns whether no parent has the very files.
    fn is_of_no_side(&self) -> bool {
        self.sides.len() == self.entry.parents.len()
    }

    /// Returns what is wrong with the signatures of entries that were decided anew, and of those that are new to the first parent.
    fn signatures(&self, judge: &mut Judge<'_>, again: &Again) -> Result<Vec<Wrong>, OpsError> {
        let rules = judge.rules(self.entry)?;
        let history = &self.after.history;
        let is_new = |place: &usize| {
            self.had.iter().all(|(_, task)| !task.history.contains(&history[*place]))
        };
        let judged = (&*rules, self.entry);
        let anew: Vec<usize> = if self.is_of_no_side() {
            (0..history.len()).filter(is_new).collect()
        } else {
            Vec::new()
        };
        let mut wrong =
            signed::of_entries(judge.anchor, judged, self.id, &self.after, anew.iter().copied());
        let Some(first) = self.entry.parents.first() else { return Ok(wrong) };
        if self.sides.iter().all(|(side, _)| side != first) {
            return Ok(wrong);
        }
        let ours = self.had.iter().find(|(side, _)| side == first);
        let is_theirs = |place: &usize| {
            !anew.contains(place)
                && ours.is_none_or(|(_, task)| !task.history.contains(&history[*place]))
        };
        let brought: Vec<usize> = (0..history.len()).filter(is_theirs).collect();
        // Where the first parent has had the same keys since they parted, the side's own commits were judged by them.
        let brought = signed::by_newer_keys(judge, again, *first, &rules, (&self.after, brought))?;
        let by_keys = signed::of_entries(None, judged, self.id, &self.after, brought).into_iter();
        wrong.extend(by_keys.filter(|wrong| wrong.broken != Broken::BadSignature));
        Ok(wrong)
    }

    /// Returns what is wrong with a file that nobody has taken up, and that says what no side said.
    fn said_by_hand(&self, judge: &mut Judge<'_>) -> Result<Option<Wrong>, OpsError> {
        if !is_new(&self.after) || !self.had.is_empty() || !self.is_of_no_side() {
            return Ok(None);
        }
        let rules = judge.rules(self.entry)?;
        let Some((_, new)) = self.sides.iter().find_map(|(_, own)| own.after.first()) else {
            return Ok(None);
        };
        let before = self.sides.iter().flat_map(|(_, own)| &own.before);
        let found = judge.said_by_hand(&rules, self.id, before, *new)?;
        let expected = "a task that the engine finished, with its entries".to_owned();
        Ok(found.map(|found| self.wrong((Broken::SaidByHand, expected, found))))
    }

    /// Judges where the task stands: as the rules merge it, or else as all sides had it.
    fn state(&self, judge: &mut Judge<'_>, again: &Again) -> Result<Vec<Wrong>, OpsError> {
        if matches!(again, Again::CutOff) {
            return Ok(Vec::new());
        }
        let all = again.merged(judge, self.entry, self.id, &self.after)?;
        let Some(first) = all.first() else {
            let lost = self
                .lost()
                .map(|(expected, found)| self.wrong((Broken::LostInMerge, expected, found)));
            return Ok(lost.into_iter().collect());
        };
        let Some(merged) = all.iter().find(|merged| stands_alike(&merged.task, &self.after)) else {
            let (expected, found) = (stands(&first.task), stands(&self.after));
            let (expected, found) = if expected == found {
                (
                    format!("{expected}, as the rules merge it"),
                    "something else of what the engine keeps".to_owned(),
                )
            } else {
                (expected, found)
            };
            return Ok(vec![self.wrong((Broken::LostInMerge, expected, found))]);
        };
        let said = trailers::parse(&self.entry.message);
        let untold = merged
            .superseded
            .iter()
            .filter_map(superseded_trailer)
            .filter(|own| !said.contains(own));
        let found = "no trailer that says so".to_owned();
        Ok(untold
            .map(|own| self.wrong((Broken::Untold, short(&own.to_string()), found.clone())))
            .collect())
    }

    /// Returns what is wrong with a task that is not as all sides had it, if anything is.
    fn lost(&self) -> Option<(String, String)> {
        let after = &*self.after;
        for (side, before) in &self.had {
            if !after.history.starts_with(&before.history) {
                let side = &side.to_string()[..7];
                let expected =
                    format!("the {} that commit {side} has", entries(before.history.len()));
                return Some((expected, format!("{}, others", entries(after.history.len()))));
            }
        }
        let as_one_side = is_new(after)
            || !self.is_of_no_side()
            || self.had.iter().any(|(_, had)| stands_alike(&timeless(had), &timeless(after)));
        (!as_one_side).then(|| {
            ("the task as one side had it".to_owned(), "a state that no side had".to_owned())
        })
    }
}

/// Says where a task stands, and with how long a history.
fn stands(task: &Task) -> String {
    let at = task.gate.as_ref().map_or_else(String::new, |open| format!(" at {}", open.current));
    let by = task
        .history
        .last()
        .map_or_else(String::new, |visit| format!(", the last one {}", named(visit)));
    short(&format!("{}{at}, with {}{by}", task.status, entries(task.history.len())))
}

/// Returns the task as if nobody had noted when it was last changed: of two edits, either time will do.
fn timeless(task: &Task) -> Task {
    Task { updated: task.created, ..task.clone() }
}
