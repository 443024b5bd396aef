//! Tasks that depend on others: stopped while one of these is lost, and circles in which all wait for each other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::actions::{restart, resume};
use super::completion::open_now;
use super::fold;
use crate::domain::{LostDependency, Status, Task, Timestamp};
use crate::rules::decide::{Decision, Step};
use crate::rules::refusal::Refusal;
use crate::rules::routing::fork;
use crate::rules::workflow::rules::Rules;

/// Returns the dependencies on whose loss the task waits. What a completion said of them is its own affair.
pub fn lost_dependencies(task: &Task) -> Vec<LostDependency> {
    // Once it was set going again, what was said is over.
    let waits = task.gate.as_ref().is_some_and(|open| open.resumed.is_none());
    let said = task
        .history
        .last()
        .filter(|_| waits)
        .map(|visit| visit.blockers.as_slice())
        .unwrap_or_default();
    let own = task.blockers.iter().filter(|blocker| !said.contains(blocker));
    own.filter_map(|blocker| LostDependency::read(blocker)).collect()
}

/// Has the task wait for those of its dependencies that are lost, and for no others: it is blocked while there is one, and goes
/// on by itself when there is none.
pub(crate) fn depend(
    rules: &Rules,
    task: &Task,
    lost: &[LostDependency],
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let open = open_now(task)?;
    let known = lost_dependencies(task);
    // What a completion said already stands in the way as its own.
    let said =
        |lost: &&LostDependency| !known.contains(lost) && task.blockers.contains(&lost.to_string());
    let depends = |lost: &&LostDependency| task.depends_on.contains(lost.task());
    let wanted: Vec<&LostDependency> =
        lost.iter().filter(depends).filter(|lost| !said(lost)).collect();
    if known.iter().eq(wanted.iter().copied()) {
        return Ok(Decision::Settled { visit: open.visit });
    }
    let mut after = task.clone();
    after.updated = now.max(task.updated);
    let texts: Vec<String> = known.iter().map(ToString::to_string).collect();
    after.blockers.retain(|blocker| !texts.contains(blocker));
    after.blockers.extend(wanted.iter().map(ToString::to_string));
    let mut events = Vec::new();
    if !after.blockers.is_empty() {
        after.status = Status::Blocked;
    } else if open.held.is_none() {
        let at = after.updated;
        resume(&mut after, at);
        restart(&mut after);
        events = fold::hold_if_stuck(rules, &mut after);
    }
    if !open.branches.is_empty() {
        fork::follow(&mut after);
    }
    Ok(Decision::Step(Box::new(Step { events, ..Step::silent(after) })))
}

/// What waits for what: tasks, each with those that it depends on.
pub type Waits<'t> = BTreeMap<&'t str, Vec<&'t str>>;

/// Returns tasks that wait for each other in a circle, each circle from its first by name on; of circles that hang together at
/// least one.
pub fn circles<'t>(waits: &Waits<'t>) -> Vec<Vec<&'t str>> {
    let stuck = stuck(waits);
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for start in &stuck {
        let mut path: Vec<&str> = Vec::new();
        let mut at = *start;
        while seen.insert(at) {
            path.push(at);
            // Whoever is stuck waits for somebody who is.
            let Some(next) = waits[at].iter().find(|other| stuck.contains(*other)) else { break };
            at = *next;
        }
        if let Some(from) = path.iter().position(|other| *other == at) {
            let mut circle = path.split_off(from);
            let first = circle
                .iter()
                .enumerate()
                .min_by_key(|(_, name)| **name)
                .map_or(0, |(index, _)| index);
            circle.rotate_left(first);
            found.push(circle);
        }
    }
    found
}

/// Returns the tasks that are in a circle, or wait for one that is.
fn stuck<'t>(waits: &Waits<'t>) -> BTreeSet<&'t str> {
    let mut waiting: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for (task, others) in waits {
        let others: BTreeSet<&str> =
            others.iter().copied().filter(|other| waits.contains_key(other)).collect();
        open.insert(*task, others.len());
        for other in others {
            waiting.entry(other).or_default().push(task);
        }
    }
    let mut free: Vec<&str> =
        open.iter().filter(|(_, count)| **count == 0).map(|(task, _)| *task).collect();
    while let Some(task) = free.pop() {
        open.remove(task);
        for other in waiting.get(task).into_iter().flatten() {
            let Some(count) = open.get_mut(other) else { continue };
            *count -= 1;
            if *count == 0 {
                free.push(other);
            }
        }
    }
    open.into_keys().collect()
}

/// Returns the shortest circle that the task is in, from it on.
pub fn circle_of<'t>(waits: &Waits<'t>, task: &'t str) -> Option<Vec<&'t str>> {
    let mut from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut next = VecDeque::from([task]);
    while let Some(at) = next.pop_front() {
        for other in waits.get(at).into_iter().flatten() {
            if *other == task {
                let mut way: Vec<&str> =
                    std::iter::successors(Some(at), |at| from.get(at).copied()).collect();
                way.reverse();
                return Some(way);
            }
            if !from.contains_key(other) {
                from.insert(*other, at);
                next.push_back(*other);
            }
        }
    }
    None
}
