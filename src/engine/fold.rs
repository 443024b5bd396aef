//! What a history says of a task: each entry, in turn, ends a visit and opens the next.
//!
//! This is the only place that moves a task. What an entry alone cannot say (nobody is in the next gate's role) is added by
//! `hold_if_stuck`, from the rules.

use super::guard::LOOP_LIMIT;
use super::post::Post;
use super::rules::Rules;
use crate::model::{
    Destination, Ending, Event, Gate, GateId, Map, OpenVisit, Outcome, ReviewContext, RoleId, Status, Task, Timestamp,
    Visit,
};

/// Moves the task by one entry. The entry's fields decide; the rules only say whose the next gate is.
pub(super) fn apply(rules: &Rules, task: &mut Task, visit: Visit) {
    task.routing.agent = None;
    task.blockers = Vec::new();
    task.updated = visit.exited;
    hand_on(&mut task.context, &visit);
    if let Some(hash) = &visit.workflow {
        task.workflow_hash = Some(hash.clone());
    }
    task.status = status(&visit);
    if task.status == Status::Blocked {
        task.blockers = match &visit.blockers[..] {
            // A decision may hold a task without a list: then what it was about says why.
            [] => vec![visit.summary.clone()],
            blockers => blockers.to_vec(),
        };
    }
    let at = visit.exited;
    let next = match &visit.to {
        Some(Destination::Gate(gate)) => Some((gate.clone(), visit.escalated_to.clone())),
        _ => None,
    };
    task.history.push(visit);
    task.review = review(&task.history);
    match next {
        Some((gate, escalated)) => open(rules, task, gate, escalated, at),
        None => close(task),
    }
}

/// What an entry makes of the task. Whoever stays where it is without having gone back waits.
fn status(visit: &Visit) -> Status {
    match (&visit.to, &visit.outcome) {
        (Some(Destination::Gate(gate)), Ending::Said(_)) if *gate == visit.gate && visit.retry.is_none() => {
            Status::Blocked
        }
        (Some(Destination::Gate(_)), _) => Status::Ready,
        (Some(Destination::End), _) => Status::Complete,
        (Some(Destination::Fail), _) => Status::Failed,
        (Some(Destination::Cancelled) | None, _) => Status::Cancelled,
    }
}

/// A gate's latest outputs stand in the context under its name; a route may drop those of other gates. `$status` is the
/// outcome, not data.
fn hand_on(context: &mut Map, visit: &Visit) {
    for gate in &visit.cleared {
        context.remove(gate.as_str());
    }
    let mut outputs = visit.outputs.clone();
    outputs.remove("$status");
    if !outputs.is_empty() {
        context.insert(visit.gate.to_string(), outputs.into());
    }
}

/// Opens a visit at the gate.
pub(super) fn open(rules: &Rules, task: &mut Task, gate: GateId, escalated: Option<RoleId>, at: Timestamp) {
    let found = rules.workflow_of(task).and_then(|workflow| workflow.gate(&gate)).map(|(_, gate)| gate);
    task.routing.role = escalated.clone().or_else(|| found.and_then(Gate::role).cloned());
    task.gate = Some(OpenVisit { current: gate, entered: at, visit: task.history.len(), escalated });
}

fn close(task: &mut Task) {
    task.gate = None;
    task.routing.role = None;
    task.review = None;
}

/// Returns the entries whose wishes nobody has answered yet, oldest first. They are answered when the gate that has them passes
/// the task or does not apply any more, or a person decides; a gate that rejects again says anew what it wants.
pub fn unanswered(history: &[Visit]) -> Vec<&Visit> {
    let mut open: Vec<&Visit> = Vec::new();
    for visit in history {
        match &visit.outcome {
            Ending::Override | Ending::Reopened | Ending::Cancelled => open.clear(),
            Ending::Said(outcome) if sends_back(visit, outcome) => {
                open.retain(|other| other.gate != visit.gate);
                open.push(visit);
            }
            Ending::Said(Outcome::Blocked | Outcome::Failed) | Ending::Moved => {}
            Ending::Said(_) => {
                open.retain(|other| other.gate != visit.gate && !visit.skipped.contains(&other.gate));
            }
        }
    }
    // A decision may lead back as a matter of course; only who says that something needs mending must be answered.
    open.retain(|visit| visit.outcome == Ending::Said(Outcome::NeedsReview));
    open
}

fn sends_back(visit: &Visit, outcome: &Outcome) -> bool {
    *outcome == Outcome::NeedsReview || (visit.retry.is_some() && *outcome != Outcome::Failed)
}

/// Returns what the latest wish is that nobody has answered.
fn review(history: &[Visit]) -> Option<ReviewContext> {
    let told = |visit: &Visit| !visit.blockers.is_empty() || visit.rejection_notes.is_some();
    let last = history.last().filter(|visit| visit.retry.is_some() && told(visit));
    let visit = last.or_else(|| unanswered(history).pop())?;
    Some(ReviewContext {
        from_gate: visit.gate.clone(),
        from_agent: visit.agent.clone(),
        from_role: visit.role.clone(),
        timestamp: visit.exited,
        blockers: visit.blockers.clone(),
        notes: visit.rejection_notes.clone(),
    })
}

/// Blocks a task that cannot go on by itself: it was sent back too often, or nobody is in the role. Returns what to tell.
pub(super) fn hold_if_stuck(rules: &Rules, task: &mut Task) -> Vec<Event> {
    let Some(open) = task.gate.clone() else { return Vec::new() };
    let mut events = Vec::new();
    let mut blockers = Vec::new();
    if let Some((from, count)) = exhausted(rules, task) {
        blockers.push(format!(
            "Circular rejection loop: sent back to gate '{}' {count} times, last by '{from}'",
            open.current
        ));
        events.push(Event::CircularLoop { gate: open.current.clone(), from, count });
    }
    if let Some(post) = Post::of(rules, task).filter(|post| !post.is_staffed(rules)) {
        // The text is spec 1, 9.7's own.
        blockers.push(format!("No agents available for role: {}", post.role));
        events.push(Event::BlockedNoAgents { gate: open.current.clone(), role: post.role.clone() });
    }
    if !blockers.is_empty() {
        task.status = Status::Blocked;
        task.blockers.extend(blockers);
    }
    events
}

/// Returns who sent the task back to where it stands, and how often it has been, when that was once too often and nobody has
/// answered yet.
pub(super) fn exhausted(rules: &Rules, task: &Task) -> Option<(GateId, u32)> {
    let last = task.history.last()?;
    let count = last.retry.filter(|_| last.escalated_to.is_none())?;
    let from = rules.workflow_of(task).and_then(|workflow| workflow.gate(&last.gate)).map(|(_, gate)| gate);
    let limit = from.and_then(|gate| gate.exits.retries()).unwrap_or(LOOP_LIMIT);
    (count > limit).then(|| (last.gate.clone(), count))
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
