//! Tasks that depend on others: stopped while one of these is lost, and circles in which all wait for each other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::fold::{hold_if_stuck, restart, resume};
use super::visit::Transition;
use crate::domain::{LostDependency, Status};
use crate::rules::act::{Decision, WorkflowStep};
use crate::rules::refusal::Refusal;
use crate::rules::routing::blockers::lost_dependencies;
use crate::rules::routing::fork;

/// Has the task wait for those of its dependencies that are lost, and for no others: it is blocked while there is one, and goes
/// on by itself when there is none.
pub(crate) fn depend(
    transition: &Transition<'_>,
    lost: &[LostDependency],
) -> Result<Decision, Refusal> {
    let task = transition.task;
    let open = transition.open()?;
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
    let mut after = transition.changed();
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
        events = hold_if_stuck(transition.rules, &mut after);
    }
    if !open.branches.is_empty() {
        fork::follow(&mut after);
    }
    Ok(WorkflowStep { events, ..WorkflowStep::silent(after) }.into())
}

/// What waits for what: tasks, each with those that it depends on.
pub type Waits<'t> = BTreeMap<&'t str, Vec<&'t str>>;

/// Returns tasks that wait for each other in a circle, each circle from its first by name on; of circles that share tasks at
/// least one.
pub fn circles<'t>(waits: &Waits<'t>) -> Vec<Vec<&'t str>> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for task in waits.keys() {
        if !seen.contains(task)
            && let Some(circle) = circle_of(waits, task)
        {
            seen.extend(circle.iter().copied());
            found.push(circle);
        }
    }
    found
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
