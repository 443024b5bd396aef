//! The fold of a history: each entry ends a visit and opens the next.
//!
//! This is the only place that moves a task. Facts that are not in the entry (the next gate's role has no agents) are added by
//! `hold_if_stuck`, from the rules.

use crate::act::{LOOP_LIMIT, WorkflowStep};
use crate::refusal::Refusal;
use crate::routing::fork;
use crate::routing::loops::{self, store_outputs};
use crate::routing::reviews::{lost_dependencies, review, review_of, wants};
use crate::routing::workplace::Workplace;
use crate::workflow::rules::Rules;
use aof_domain::{
    Blocker, Destination, Ending, Event, Exhausted, GateId, LoopItem, OpenVisit, Outcome, RoleId,
    Routing, Status, Task, Timestamp, Visit,
};

/// Moves the task by one entry. The entry's fields decide; the rules only provide the role of the next gate.
pub(crate) fn apply(rules: &Rules, task: &mut Task, visit: Visit) {
    task.updated = visit.exited;
    if let Some(workflow) = rules.workflow_of(task) {
        store_outputs(workflow, &mut task.context, &visit);
    }
    if let Some(hash) = &visit.workflow {
        task.workflow_hash = Some(hash.clone());
    }
    if visit.leaves_open() {
        if let (Some(open), Some(branch)) = (&mut task.gate, &visit.branch) {
            match (visit.verdict, &visit.escalated_to) {
                (Some(verdict), _) => {
                    fork::record_verdict(&mut open.branches, branch, verdict, &wants(&visit));
                }
                (None, Some(role)) => fork::escalate(&mut open.branches, branch, role),
                (None, None) => {}
            }
        }
        task.history.push(visit);
        fork::update_status(task);
        return;
    }
    task.routing =
        Routing { role: task.routing.role.take(), ..Routing::of(task.routing.workflow.clone()) };
    task.blockers = Vec::new();
    task.status = status_after(&visit);
    let at = visit.exited;
    let next = match &visit.to {
        Some(Destination::Gate(gate)) => {
            Some((gate.clone(), visit.escalated_to.clone(), visit.to_item))
        }
        _ => None,
    };
    // If a task cannot begin another round, `hold_if_stuck` sets its blockers.
    let is_asked = visit.gate_outcome() != Some(&Outcome::Complete);
    task.history.push(visit);
    if task.status == Status::Blocked && is_asked {
        task.blockers = review_of(&task.history, task.history.len() - 1)
            .map(|review| review.blockers.into_iter().map(Blocker::from).collect())
            .unwrap_or_default();
    }
    task.review = review(&task.history);
    match next {
        Some((gate, escalated, item)) => open(rules, task, gate, (escalated, item), at),
        None => close(task),
    }
}

/// Returns the status after an entry. A task that stays at its gate without a way back is blocked.
fn status_after(visit: &Visit) -> Status {
    match (&visit.to, &visit.outcome) {
        (_, Ending::Completed(_)) if visit.stays() && visit.retry.is_none() => Status::Blocked,
        (Some(Destination::Gate(_)), _) => Status::Ready,
        (Some(Destination::End), _) => Status::Complete,
        (Some(Destination::Fail), _) => Status::Failed,
        (Some(Destination::Cancelled) | None, _) => Status::Cancelled,
    }
}

/// Opens a visit at the gate.
pub(crate) fn open(
    rules: &Rules,
    task: &mut Task,
    gate: GateId,
    (escalated, item): (Option<RoleId>, Option<LoopItem>),
    at: Timestamp,
) {
    let found =
        rules.workflow_of(task).and_then(|workflow| Some((workflow, workflow.gate(&gate)?.1)));
    let branches = match found {
        Some((workflow, gate)) => fork::open(rules, workflow, gate, task, escalated.as_ref()).0,
        None => Vec::new(),
    };
    let named = escalated.as_ref().or(rules.own_role(task));
    let role = named.or_else(|| found.and_then(|(_, gate)| gate.role())).cloned();
    task.routing.role = role.filter(|_| branches.is_empty());
    task.gate = Some(OpenVisit {
        item,
        escalated,
        branches,
        ..OpenVisit::at(gate, at, task.history.len())
    });
}

fn close(task: &mut Task) {
    task.gate = None;
    task.routing.role = None;
    task.review = None;
}

/// Blocks a task that cannot go on by itself: it was sent back too often, or its role has no agents. Returns the events of that.
pub(crate) fn hold_if_stuck(rules: &Rules, task: &mut Task) -> Vec<Event> {
    let Some(open) = task.gate.clone() else { return Vec::new() };
    let mut events = Vec::new();
    let mut blockers = Vec::new();
    if let Some((from, count)) = exhausted(rules, task) {
        blockers.push(Blocker::circle(&open.current, count, &from));
        let gate = open.current.clone();
        let limited =
            rules.workflow_of(task).and_then(|workflow| workflow.gate(&from)?.1.exits.retries());
        events.push(match limited {
            Some(_) => Event::Exhausted { gate, from_gate: from, loop_count: count },
            None => Event::CircularLoop { gate, from_gate: from, loop_count: count },
        });
    }
    blockers.extend(loops::begin_or_block(rules, task));
    blockers.extend(loops::round_blocker(rules, task));
    if let Some(workplace) =
        Workplace::of(rules, task).filter(|workplace| !workplace.is_staffed(rules))
    {
        blockers.push(Blocker::nobody(workplace.role));
        events.push(Event::BlockedNoAgents {
            gate: open.current.clone(),
            role: workplace.role.clone(),
        });
    }
    let held = fork::hold_unstaffed(rules, task);
    if !held.is_empty() {
        if task.status != Status::Blocked {
            fork::update_status(task);
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

/// Returns the gate that sent the task back to its gate, and the number of returns, if that exceeded the limit and is unanswered.
pub(crate) fn exhausted(rules: &Rules, task: &Task) -> Option<(GateId, u32)> {
    let last = task.history.iter().rfind(|visit| visit.outcome != Ending::Moved)?;
    let count = last.retry.filter(|_| last.escalated_to.is_none())?;
    let from = rules
        .workflow_of(task)
        .and_then(|workflow| workflow.gate(&last.gate))
        .map(|(_, gate)| gate);
    let limit = from.and_then(|gate| gate.exits.retries()).unwrap_or(LOOP_LIMIT);
    // A gate with a route for too many returns has applied its limit already.
    let elsewhere = from.is_some_and(|gate| matches!(gate.exits.on_exhausted, Exhausted::Route(_)));
    let limit = if elsewhere { limit.max(LOOP_LIMIT) } else { limit };
    (count > limit).then(|| (last.gate.clone(), count))
}

/// Returns whether the task was sent back too often and waits for a person: no completion is accepted.
pub fn is_looping(rules: &Rules, task: &Task) -> bool {
    not_looping(rules, task).is_err()
}

pub(crate) fn not_looping(rules: &Rules, task: &Task) -> Result<(), Refusal> {
    let exhausted = exhausted(rules, task).filter(|_| task.status == Status::Blocked);
    match (exhausted, &task.gate) {
        (Some((_, count)), Some(open)) => {
            let gate = open.current.clone();
            Err(Refusal::CircularLoop { task: task.id.clone(), gate, count })
        }
        _ => Ok(()),
    }
}

/// Adds the events of the task's arrival, and blocks the task if it cannot go on there.
pub(crate) fn arrive(rules: &Rules, mut step: WorkflowStep) -> WorkflowStep {
    let (events, trouble) = fork::opening_events(rules, &step.task);
    step.events.extend(events);
    step.met(trouble);
    step.events.extend(hold_if_stuck(rules, &mut step.task));
    step
}

/// Unblocks the whole task, unless a dependency is lost. Time limits and claims restart now.
pub(crate) fn resume(task: &mut Task, now: Timestamp) {
    task.blockers = lost_dependencies(task).into_iter().map(Blocker::Lost).collect();
    task.status = match &task.routing.agent {
        _ if !task.blockers.is_empty() => Status::Blocked,
        Some(_) => Status::InProgress,
        None => Status::Ready,
    };
    task.updated = now;
    task.routing.claimed = task.routing.agent.as_ref().map(|_| now);
    if let Some(open) = &mut task.gate {
        open.resumed = Some(now);
        if open.held.take().is_some() {
            restart(task);
        }
    }
}

/// Restarts the time limits of all open branches at the task's last change.
pub(crate) fn restart(task: &mut Task) {
    let now = task.updated;
    for part in task.branches_mut().filter(|part| part.status.is_open()) {
        part.resumed = Some(now);
        part.claimed = part.agent.as_ref().map(|_| now);
    }
}
