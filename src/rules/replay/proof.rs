//! Whether one state of a task may follow another: what a history has to stand up to. Judges states alone; who says that they
//! are his is for others to see.

use super::explain::{
    Change, Found, bare, differing, explain, from_entry, opened_at, with_people_of,
};
use crate::domain::{BranchStatus, Status, Task, Visit};
use crate::rules::act::{Act, Decision};
use crate::rules::decide::decide;
use crate::rules::transition::completion::complete;
use crate::rules::transition::visit::Transition;
use crate::rules::workflow::rules::Rules;

/// What the states say.
#[derive(Debug, Clone, PartialEq)]
pub enum Proof {
    /// The engine's part is as it was.
    Kept,
    /// The engine did this.
    Done(Box<Found>),
    /// The engine could have done all this, one step after the other: so many entries came at once.
    Several(usize),
    /// It cannot have been the engine.
    Breach(Breach),
}

/// What cannot have been the engine.
#[derive(Debug, Clone, PartialEq)]
pub enum Breach {
    /// Entries are gone: how many there were, and are.
    Removed { before: usize, after: usize },
    /// An entry says something else than it did: the first such one, counted from 0.
    Rewritten { entry: usize },
    /// The rules refuse what the entry says.
    Refused { entry: usize, why: String },
    /// By the rules, something else comes of what the entry says.
    Otherwise {
        entry: usize,
        /// The fields that differ from what the engine makes of it.
        fields: Vec<&'static str>,
        /// What the engine makes of it.
        expected: Box<Task>,
    },
    /// What is the engine's was moved, and no entry says so.
    Moved {
        /// The fields that differ from before.
        fields: Vec<&'static str>,
    },
    /// A task that is new has been somewhere already: so many entries.
    Begun { entries: usize },
}

/// Returns what becomes of `before` (nothing for a new task) in `after`, by these rules.
pub fn prove(rules: &Rules, before: Option<&Task>, after: &Task) -> Proof {
    if let Some(breach) = before.and_then(|before| rewritten(before, after)) {
        return Proof::Breach(breach);
    }
    let fields = match explain(rules, before, after) {
        Change::Same | Change::Edit => return Proof::Kept,
        Change::Act(found) if found.states.len() > 1 && before.is_some() => {
            return Proof::Several(found.states.len());
        }
        Change::Act(found) => return Proof::Done(found),
        Change::Foreign(fields) => fields,
    };
    let Some(before) = before else { return Proof::Breach(begun(rules, after)) };
    match &after.history[before.history.len()..] {
        [] => Proof::Breach(Breach::Moved { fields }),
        ended => {
            // What people changed at the same time counts for the rules, and is theirs.
            let edited = with_people_of(before, after);
            several(rules, edited, ended, after).map_or(Proof::Several(ended.len()), Proof::Breach)
        }
    }
}

/// Returns what is wrong with a task that is new.
fn begun(rules: &Rules, after: &Task) -> Breach {
    if !after.history.is_empty() {
        return Breach::Begun { entries: after.history.len() };
    }
    match decide(rules, &bare(rules, after), &Act::Open, opened_at(after)) {
        Ok(Decision::Step(step)) => Breach::Otherwise {
            entry: 0,
            fields: differing(&step.task, after),
            expected: Box::new(step.task),
        },
        Ok(Decision::Settled { .. }) => Breach::Begun { entries: 0 },
        Err(refusal) => Breach::Refused { entry: 0, why: refusal.problem() },
    }
}

/// Returns the states with the hash of the rules in place of what the later one names them by, and nothing where that is the same.
/// Another version of the engine may have called the same rules something else.
pub fn rehashed(
    rules: &Rules,
    before: Option<&Task>,
    after: &Task,
) -> Option<(Option<Task>, Task)> {
    let hash = rules.hash(&after.routing.workflow)?;
    let known = before.map_or(0, |task| task.history.len());
    let entries = after.history.get(known..).unwrap_or_default();
    let own = after.workflow_hash.as_deref().or_else(|| entries.last()?.workflow.as_deref())?;
    if own == hash {
        return None;
    }
    let renamed = |task: &Task, from: usize| {
        let mut task = task.clone();
        let named = task.history.iter_mut().skip(from).map(|visit| &mut visit.workflow);
        for name in named.chain([&mut task.workflow_hash]).flatten().filter(|name| *name == own) {
            hash.clone_into(name);
        }
        task
    };
    // What was written before stays what it was.
    Some((before.map(|before| renamed(before, before.history.len())), renamed(after, known)))
}

fn rewritten(before: &Task, after: &Task) -> Option<Breach> {
    let differs = before.history.iter().zip(&after.history).position(|(old, new)| old != new);
    let (was, is) = (before.history.len(), after.history.len());
    match differs {
        Some(entry) => Some(Breach::Rewritten { entry }),
        None => (is < was).then_some(Breach::Removed { before: was, after: is }),
    }
}

/// Returns what is wrong with entries that came at once; nothing where the engine could have made them one after the other, with
/// claims and the like between them.
fn several(rules: &Rules, mut task: Task, ended: &[Visit], after: &Task) -> Option<Breach> {
    for entry in ended {
        let number = task.history.len();
        task = match follow(rules, &task, entry) {
            Ok(next) => next,
            Err(why) => return Some(Breach::Refused { entry: number, why }),
        };
        if task.history.last() != Some(entry) {
            return Some(Breach::Otherwise {
                entry: number,
                fields: vec!["gateHistory"],
                expected: Box::new(task),
            });
        }
    }
    let fields = differing(&unclaimed(&task), &unclaimed(after));
    let entry = after.history.len() - 1;
    (!fields.is_empty()).then(|| Breach::Otherwise { entry, fields, expected: Box::new(task) })
}

/// Returns what the engine makes of the entry, or why it refuses it.
pub(crate) fn follow(rules: &Rules, before: &Task, entry: &Visit) -> Result<Task, String> {
    let Some((act, now)) = from_entry(before, entry) else {
        return Err("it does not say who ended the visit, or by which completion".to_owned());
    };
    let decided = match (&act, &entry.completion) {
        (Act::Complete(completion), Some(stamp)) => {
            complete(&Transition { rules, task: before, now }, completion, stamp.clone())
        }
        _ => decide(rules, before, &act, now),
    };
    match decided {
        Ok(Decision::Step(step)) => Ok(step.task),
        Ok(Decision::Settled { .. }) => Err("its completion had counted before".to_owned()),
        Err(refusal) => Err(refusal.problem()),
    }
}

/// Returns the task as if nobody had taken it: claims leave no entry, so they are lost where commits are put together.
fn unclaimed(task: &Task) -> Task {
    let mut task = task.clone();
    (task.routing.agent, task.routing.claimed, task.routing.lost) = (None, None, None);
    for own in task.gate.iter_mut().flat_map(|open| &mut open.branches) {
        (own.agent, own.claimed, own.lost) = (None, None, None);
        if own.status == BranchStatus::InProgress {
            own.status = BranchStatus::Ready;
        }
    }
    task.updated = task.created;
    if task.status == Status::InProgress {
        task.status = Status::Ready;
    }
    task
}
