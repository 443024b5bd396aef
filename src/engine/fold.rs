//! What a history says of a task: each entry, in turn, ends a visit and opens the next.
//!
//! This is the only place that moves a task. What an entry alone cannot say (nobody is in the next gate's role) is added by
//! `hold_if_stuck`, from the rules.

use super::guard::LOOP_LIMIT;
use super::rules::Rules;
use crate::model::{
    Destination, Ending, Event, GateId, OpenVisit, Outcome, ReviewContext, Status, Task, Timestamp, Visit,
};

/// Moves the task by one entry. The entry's fields decide; the rules only say whose the next gate is.
pub(super) fn apply(rules: &Rules, task: &mut Task, visit: Visit) {
    task.routing.agent = None;
    task.blockers = Vec::new();
    task.updated = visit.exited;
    if !visit.outputs.is_empty() {
        task.context.insert(visit.gate.to_string(), visit.outputs.clone().into());
    }
    settle_review(task, &visit);
    if let Some(hash) = &visit.workflow {
        task.workflow_hash = Some(hash.clone());
    }
    let (status, next) = match (&visit.to, visit.outcome) {
        (Some(Destination::Gate(gate)), Ending::Said(Outcome::Blocked)) => (Status::Blocked, Some(gate.clone())),
        (Some(Destination::Gate(gate)), Ending::Said(Outcome::NeedsReview)) if *gate == visit.gate => {
            (Status::Blocked, Some(gate.clone()))
        }
        (Some(Destination::Gate(gate)), _) => (Status::Ready, Some(gate.clone())),
        (Some(Destination::End), _) => (Status::Complete, None),
        (None, _) => (Status::Cancelled, None),
    };
    task.status = status;
    if status == Status::Blocked {
        task.blockers.clone_from(&visit.blockers);
    }
    let at = visit.exited;
    task.history.push(visit);
    match next {
        Some(gate) => open(rules, task, gate, at),
        None => close(task),
    }
}

/// Opens a visit at the gate.
pub(super) fn open(rules: &Rules, task: &mut Task, gate: GateId, at: Timestamp) {
    let role = rules.workflow_of(task).and_then(|workflow| workflow.gate(&gate)).map(|(_, gate)| gate.role.clone());
    task.routing.role = role;
    task.gate = Some(OpenVisit { current: gate, entered: at, visit: task.history.len() });
}

fn close(task: &mut Task) {
    task.gate = None;
    task.routing.role = None;
    task.review = None;
}

/// A rejection leaves its wishes; they are answered when the gate that has them passes the task, or does not apply any more,
/// or a person decides.
fn settle_review(task: &mut Task, visit: &Visit) {
    match (visit.outcome, &visit.to) {
        (Ending::Said(Outcome::NeedsReview), Some(Destination::Gate(_))) => {
            task.review = Some(ReviewContext {
                from_gate: visit.gate.clone(),
                from_agent: visit.agent.clone(),
                from_role: visit.role.clone(),
                timestamp: visit.exited,
                blockers: visit.blockers.clone(),
                notes: visit.rejection_notes.clone(),
            });
        }
        (Ending::Said(Outcome::Complete | Outcome::Skip), _) => {
            let answered =
                |review: &ReviewContext| review.from_gate == visit.gate || visit.skipped.contains(&review.from_gate);
            task.review = task.review.take().filter(|review| !answered(review));
        }
        (Ending::Override | Ending::Reopened | Ending::Cancelled, _) => task.review = None,
        _ => {}
    }
}

/// Blocks a task that cannot go on by itself: it was sent back too often, or nobody is in the role. Returns what to tell.
pub(super) fn hold_if_stuck(rules: &Rules, task: &mut Task) -> Vec<Event> {
    let (Some(open), Some(role)) = (&task.gate, &task.routing.role) else { return Vec::new() };
    let mut events = Vec::new();
    let mut blockers = Vec::new();
    if let Some(last) = task.history.last().filter(|visit| visit.retry.is_some_and(|count| count > LOOP_LIMIT)) {
        let count = last.retry.unwrap_or_default();
        blockers.push(format!(
            "Circular rejection loop: sent back to gate '{}' {count} times, last by '{}'",
            open.current, last.gate
        ));
        events.push(Event::CircularLoop { gate: open.current.clone(), from: last.gate.clone(), count });
    }
    let gate = rules.workflow_of(task).and_then(|workflow| workflow.gate(&open.current)).map(|(_, gate)| gate);
    if gate.is_some_and(|gate| !rules.is_staffed(gate)) {
        // The text is spec 1, 9.7's own.
        blockers.push(format!("No agents available for role: {role}"));
        events.push(Event::BlockedNoAgents { gate: open.current.clone(), role: role.clone() });
    }
    if !blockers.is_empty() {
        task.status = Status::Blocked;
        task.blockers.extend(blockers);
    }
    events
}

/// Returns how often backward routes have entered the gate since a person last moved the task.
pub(super) fn returns_to(history: &[Visit], gate: &GateId) -> u32 {
    let since = history.iter().rposition(|visit| matches!(visit.outcome, Ending::Override | Ending::Reopened));
    let recent = &history[since.map_or(0, |index| index + 1)..];
    let count = recent
        .iter()
        .filter(|visit| visit.retry.is_some() && visit.to == Some(Destination::Gate(gate.clone())))
        .count();
    u32::try_from(count).unwrap_or(u32::MAX)
}
