//! What a history says of a task: each entry, in turn, ends a visit and opens the next.
//!
//! This is the only place that moves a task. What an entry alone cannot say (nobody is in the next gate's role) is added by
//! `hold_if_stuck`, from the rules.

use super::guard::LOOP_LIMIT;
use super::requested_changes::{wants, wish};
use crate::domain::{
    Destination, Ending, Event, Exhausted, GateId, Map, OpenVisit, Outcome, ReviewContext, RoleId,
    Routing, Status, Task, Timestamp, Visit,
};
use crate::rules::routing::fork;
use crate::rules::routing::workplace::Post;
use crate::rules::workflow::rules::Rules;

/// How a task begins to say that nobody is in its role: the text is spec 1, 9.7's own.
const NOBODY: &str = "No agents available for role: ";

/// How it begins to say that it was sent back too often.
const CIRCLE: &str = "Circular rejection loop: ";

/// Returns what stands in the way of a task whose role has nobody.
pub(crate) fn nobody(role: &RoleId) -> String {
    format!("{NOBODY}{role}")
}

/// Returns whether the text says that nobody is in a role.
pub fn is_nobody(text: &str) -> bool {
    text.starts_with(NOBODY)
}

/// Returns whether the text says that the task was sent back too often.
pub fn is_circle(text: &str) -> bool {
    text.starts_with(CIRCLE)
}

/// Returns whether the rules themselves put the text in a task's way, and would do so again where it still holds.
pub(crate) fn is_own(text: &str) -> bool {
    is_nobody(text) || is_circle(text)
}

/// Moves the task by one entry. The entry's fields decide; the rules only say whose the next gate is.
pub(crate) fn apply(rules: &Rules, task: &mut Task, visit: Visit) {
    task.updated = visit.exited;
    hand_on(&mut task.context, &visit);
    if let Some(hash) = &visit.workflow {
        task.workflow_hash = Some(hash.clone());
    }
    if visit.leaves_open() {
        if let (Some(open), Some(branch)) = (&mut task.gate, &visit.branch) {
            match (visit.verdict, &visit.escalated_to) {
                (Some(verdict), _) => {
                    fork::note(&mut open.branches, branch, verdict, &wants(&visit));
                }
                (None, Some(role)) => fork::escalate(&mut open.branches, branch, role),
                (None, None) => {}
            }
        }
        task.history.push(visit);
        fork::follow(task);
        return;
    }
    task.routing =
        Routing { role: task.routing.role.take(), ..Routing::of(task.routing.workflow.clone()) };
    task.blockers = Vec::new();
    task.status = status(&visit);
    let at = visit.exited;
    let next = match &visit.to {
        Some(Destination::Gate(gate)) => Some((gate.clone(), visit.escalated_to.clone())),
        _ => None,
    };
    task.history.push(visit);
    if task.status == Status::Blocked {
        task.blockers = wish(&task.history, task.history.len() - 1)
            .map(|wish| wish.blockers)
            .unwrap_or_default();
    }
    task.review = review(&task.history);
    match next {
        Some((gate, escalated)) => open(rules, task, gate, escalated, at),
        None => close(task),
    }
}

/// What an entry makes of the task. Whoever stays where it is without having gone back waits.
fn status(visit: &Visit) -> Status {
    match (&visit.to, &visit.outcome) {
        (Some(Destination::Gate(gate)), Ending::Said(_))
            if *gate == visit.gate && visit.retry.is_none() =>
        {
            Status::Blocked
        }
        (Some(Destination::Gate(_)), _) => Status::Ready,
        (Some(Destination::End), _) => Status::Complete,
        (Some(Destination::Fail), _) => Status::Failed,
        (Some(Destination::Cancelled) | None, _) => Status::Cancelled,
    }
}

/// A gate's latest outputs stand in the context under its name, a branch's under its fork's and its own; a route may drop those of other gates. `$status` is the
/// outcome, not data.
fn hand_on(context: &mut Map, visit: &Visit) {
    for gate in &visit.cleared {
        context.remove(gate.as_str());
    }
    let mut outputs = visit.outputs.clone();
    outputs.remove("$status");
    if outputs.is_empty() {
        return;
    }
    let Some(branch) = &visit.branch else {
        context.insert(visit.gate.to_string(), outputs.into());
        return;
    };
    // Branches hand on side by side, each under its own name within the fork's.
    let fork = context.entry(visit.gate.to_string()).or_insert_with(|| Map::new().into());
    match fork.as_object_mut() {
        Some(fork) => drop(fork.insert(branch.to_string(), outputs.into())),
        None => *fork = Map::from_iter([(branch.to_string(), outputs.into())]).into(),
    }
}

/// Opens a visit at the gate.
pub(crate) fn open(
    rules: &Rules,
    task: &mut Task,
    gate: GateId,
    escalated: Option<RoleId>,
    at: Timestamp,
) {
    let found =
        rules.workflow_of(task).and_then(|workflow| Some((workflow, workflow.gate(&gate)?.1)));
    let branches = match found {
        Some((workflow, gate)) => fork::open(rules, workflow, gate, task, escalated.as_ref()).0,
        None => Vec::new(),
    };
    let own = escalated.as_ref().or(rules.own_role(task));
    let role = own.or_else(|| found.and_then(|(_, gate)| gate.role())).cloned();
    task.routing.role = role.filter(|_| branches.is_empty());
    task.gate =
        Some(OpenVisit { escalated, branches, ..OpenVisit::at(gate, at, task.history.len()) });
}

fn close(task: &mut Task) {
    task.gate = None;
    task.routing.role = None;
    task.review = None;
}

/// Returns the entries whose wishes nobody has answered yet, oldest first. They are answered when the gate that has them passes
/// the task or does not apply any more, or a person decides; a gate that rejects again says anew what it wants.
pub fn unanswered(history: &[Visit]) -> Vec<&Visit> {
    unanswered_at(history).into_iter().map(|index| &history[index]).collect()
}

/// Returns what these entries want: of a fork, what all of its branches want.
pub(crate) fn open_wishes(history: &[Visit]) -> Vec<ReviewContext> {
    unanswered_at(history).into_iter().filter_map(|index| wish(history, index)).collect()
}

/// Returns the places of these entries.
fn unanswered_at(history: &[Visit]) -> Vec<usize> {
    let mut open: Vec<usize> = Vec::new();
    for (index, visit) in history.iter().enumerate() {
        match (&visit.outcome, visit.said()) {
            (Ending::Override | Ending::Reopened | Ending::Cancelled, _) => open.clear(),
            (_, Some(outcome)) if sends_back(visit, outcome) => {
                open.retain(|other| history[*other].gate != visit.gate);
                if !is_settled(visit) {
                    open.push(index);
                }
            }
            // A branch that has spoken while others are open is not its fork.
            (_, Some(Outcome::Blocked | Outcome::Failed) | None) => {}
            (_, Some(_)) => {
                open.retain(|other| {
                    let gate = &history[*other].gate;
                    *gate != visit.gate && !visit.skipped.contains(gate)
                });
            }
        }
    }
    // A decision may lead back as a matter of course; only who says that something needs mending must be answered.
    open.retain(|index| history[*index].said() == Some(&Outcome::NeedsReview));
    open
}

/// A rejection is settled where the workflow sends a task that came back too often somewhere else: that gate has the word.
fn is_settled(visit: &Visit) -> bool {
    let stays = visit.to == Some(Destination::Gate(visit.gate.clone()));
    visit.retry.is_none() && !stays
}

fn sends_back(visit: &Visit, outcome: &Outcome) -> bool {
    *outcome == Outcome::NeedsReview || (visit.retry.is_some() && *outcome != Outcome::Failed)
}

/// Returns what the latest wish is that nobody has answered.
fn review(history: &[Visit]) -> Option<ReviewContext> {
    let told = |visit: &Visit| !visit.blockers.is_empty() || visit.rejection_notes.is_some();
    // That the rules or the clock moved the task since changes nothing of what is wanted.
    let came =
        history.iter().rposition(|visit| !matches!(visit.outcome, Ending::Moved | Ending::Timeout));
    let asks = |index: &usize| history[*index].retry.is_some() && history[*index].join.is_none();
    let last = came.filter(asks).filter(|index| told(&history[*index]));
    let index = last.or_else(|| unanswered_at(history).pop())?;
    let wish = wish(history, index)?;
    // Who leads back as a matter of course and lists nothing wants nothing.
    Some(if last.is_some() {
        ReviewContext { blockers: history[index].blockers.clone(), ..wish }
    } else {
        wish
    })
}

/// Blocks a task that cannot go on by itself: it was sent back too often, or nobody is in the role. Returns what to tell.
pub(crate) fn hold_if_stuck(rules: &Rules, task: &mut Task) -> Vec<Event> {
    let Some(open) = task.gate.clone() else { return Vec::new() };
    let mut events = Vec::new();
    let mut blockers = Vec::new();
    if let Some((from, count)) = exhausted(rules, task) {
        blockers.push(format!(
            "{CIRCLE}sent back to gate '{}' {count} times, last by '{from}'",
            open.current
        ));
        let gate = open.current.clone();
        let limited =
            rules.workflow_of(task).and_then(|workflow| workflow.gate(&from)?.1.exits.retries());
        events.push(match limited {
            Some(_) => Event::Exhausted { gate, from, count },
            None => Event::CircularLoop { gate, from, count },
        });
    }
    if let Some(post) = Post::of(rules, task).filter(|post| !post.is_staffed(rules)) {
        blockers.push(nobody(post.role));
        events.push(Event::BlockedNoAgents { gate: open.current.clone(), role: post.role.clone() });
    }
    let held = fork::hold_unstaffed(rules, task);
    if !held.is_empty() {
        if task.status != Status::Blocked {
            fork::follow(task);
        }
        let event = |(_, role)| Event::BlockedNoAgents { gate: open.current.clone(), role };
        events.extend(held.into_iter().map(event));
    }
    if !blockers.is_empty() {
        task.status = Status::Blocked;
        task.blockers.extend(blockers);
    }
    events
}

/// Returns who sent the task back to where it stands, and how often it has been, when that was once too often and nobody has
/// answered yet.
pub(crate) fn exhausted(rules: &Rules, task: &Task) -> Option<(GateId, u32)> {
    let last = task.history.iter().rfind(|visit| visit.outcome != Ending::Moved)?;
    let count = last.retry.filter(|_| last.escalated_to.is_none())?;
    let from = rules
        .workflow_of(task)
        .and_then(|workflow| workflow.gate(&last.gate))
        .map(|(_, gate)| gate);
    let limit = from.and_then(|gate| gate.exits.retries()).unwrap_or(LOOP_LIMIT);
    // Where a gate sends tasks elsewhere after too many returns, what it says of their number has been heeded.
    let elsewhere = from.is_some_and(|gate| matches!(gate.exits.on_exhausted, Exhausted::Route(_)));
    let limit = if elsewhere { limit.max(LOOP_LIMIT) } else { limit };
    (count > limit).then(|| (last.gate.clone(), count))
}

/// Returns how often backward routes have entered the gate since a person last moved the task.
pub(crate) fn returns_to(history: &[Visit], gate: &GateId) -> u32 {
    let since = history
        .iter()
        .rposition(|visit| matches!(visit.outcome, Ending::Override | Ending::Reopened));
    let recent = &history[since.map_or(0, |index| index + 1)..];
    let count = recent
        .iter()
        .filter(|visit| visit.retry.is_some() && visit.to == Some(Destination::Gate(gate.clone())))
        .count();
    u32::try_from(count).unwrap_or(u32::MAX)
}
