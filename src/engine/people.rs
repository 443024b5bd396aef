//! What is done with a task besides completing it: opened, claimed, given back, set going, called off, taken up again, moved.

use super::complete::{blank, looping, open_now, post, unknown_workflow};
use super::decide::{Actor, Decision, Step};
use super::fold;
use super::guard;
use super::refusal::Refusal;
use super::route;
use super::rules::Rules;
use super::warning::Warning;
use crate::model::{
    AgentId, Destination, Ending, Event, Gate, GateId, OpenVisit, Permission, Status, Task, Timestamp, Visit, Workflow,
};

pub(super) fn open(rules: &Rules, task: &Task, now: Timestamp) -> Result<Step, Refusal> {
    if let Some(open) = &task.gate {
        return Err(Refusal::NotFinished { task: task.id.clone(), gate: open.current.clone() });
    }
    if !task.history.is_empty() {
        return Err(Refusal::Finished { task: task.id.clone(), status: task.status, at: task.latest() });
    }
    let workflow = rules.workflow_of(task).ok_or_else(|| unknown_workflow(rules, task))?;
    let passage = route::entry(rules, workflow, task);
    let Destination::Gate(gate) = passage.to else {
        return Err(Refusal::NoGateApplies { workflow: workflow.name.to_string() });
    };
    let mut after = task.clone();
    let at = now;
    // A hand-made file may say anything; what has not been yet was not created.
    after.created = task.created.min(now);
    after.status = Status::Ready;
    after.updated = at;
    after.workflow_hash = rules.hash(&workflow.name).map(str::to_owned);
    fold::open(rules, &mut after, gate, None, at);
    let mut events: Vec<Event> = passage.skipped.into_iter().map(|gate| Event::Skipped { gate }).collect();
    events.extend(passage.trouble.iter().cloned().map(Event::ConditionError));
    events.extend(fold::hold_if_stuck(rules, &mut after));
    let warnings = passage.trouble.into_iter().map(Warning::ConditionError).collect();
    Ok(Step { task: after, work: None, events, warnings })
}

pub(super) fn claim(rules: &Rules, task: &Task, agent: &AgentId, now: Timestamp) -> Result<Decision, Refusal> {
    let open = open_now(task)?;
    guard::may_complete(rules, task, &post(rules, task, open)?, agent)?;
    if task.routing.agent.is_some() {
        return Ok(Decision::Settled { visit: open.visit });
    }
    if task.status == Status::Blocked {
        return Err(Refusal::Blocked { task: task.id.clone(), blockers: task.blockers.clone() });
    }
    let mut after = task.clone();
    after.routing.agent = Some(agent.clone());
    after.status = Status::InProgress;
    after.updated = now.max(task.updated);
    Ok(Decision::Step(Box::new(Step::silent(after))))
}

pub(super) fn release(task: &Task, by: &Actor, now: Timestamp) -> Result<Step, Refusal> {
    open_now(task)?;
    let Some(holder) = &task.routing.agent else {
        return Err(Refusal::NotClaimed { task: task.id.clone() });
    };
    if let Actor::Agent(agent) = by
        && agent != holder
    {
        return Err(Refusal::AssignedToAnother { task: task.id.clone(), holder: holder.clone(), agent: agent.clone() });
    }
    let mut after = task.clone();
    after.routing.agent = None;
    if after.status == Status::InProgress {
        after.status = Status::Ready;
    }
    after.updated = now.max(task.updated);
    Ok(Step::silent(after))
}

pub(super) fn unblock(
    rules: &Rules,
    task: &Task,
    by: &Actor,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<Step, Refusal> {
    let open = open_now(task)?;
    permit(rules, task, by, Permission::Unblock)?;
    if task.status != Status::Blocked {
        return Err(Refusal::NotBlocked { task: task.id.clone(), status: task.status });
    }
    if looping(rules, task).is_some() {
        // The count starts again, and the history must say that a person wanted it: an override to the same gate.
        let reason = reason.ok_or(Refusal::MissingReason { act: "unblock" })?;
        return moved(rules, task, Ending::Override, by, &open.current.clone(), reason, now);
    }
    let mut after = task.clone();
    after.status = Status::Ready;
    after.blockers = Vec::new();
    after.updated = now.max(task.updated);
    let events = fold::hold_if_stuck(rules, &mut after);
    if after.status == Status::Blocked && after.blockers == task.blockers {
        return Err(Refusal::Blocked { task: task.id.clone(), blockers: task.blockers.clone() });
    }
    Ok(Step { task: after, work: None, events, warnings: Vec::new() })
}

pub(super) fn cancel(rules: &Rules, task: &Task, by: &Actor, reason: &str, now: Timestamp) -> Result<Step, Refusal> {
    let open = open_now(task)?;
    permit(rules, task, by, Permission::Cancel)?;
    let entry = entry(rules, task, open, Ending::Cancelled, by, reason, now)?;
    let mut after = task.clone();
    fold::apply(rules, &mut after, entry);
    Ok(Step::silent(after))
}

pub(super) fn reopen(
    rules: &Rules,
    task: &Task,
    by: &Actor,
    to: &GateId,
    reason: &str,
    now: Timestamp,
) -> Result<Step, Refusal> {
    permit(rules, task, by, Permission::Reopen)?;
    if let Some(open) = &task.gate {
        return Err(Refusal::NotFinished { task: task.id.clone(), gate: open.current.clone() });
    }
    moved(rules, task, Ending::Reopened, by, to, reason, now)
}

pub(super) fn override_to(
    rules: &Rules,
    task: &Task,
    by: &Actor,
    to: &GateId,
    reason: &str,
    now: Timestamp,
) -> Result<Step, Refusal> {
    open_now(task)?;
    permit(rules, task, by, Permission::Override)?;
    moved(rules, task, Ending::Override, by, to, reason, now)
}

fn moved(
    rules: &Rules,
    task: &Task,
    ending: Ending,
    by: &Actor,
    to: &GateId,
    reason: &str,
    now: Timestamp,
) -> Result<Step, Refusal> {
    let workflow = rules.workflow_of(task).ok_or_else(|| unknown_workflow(rules, task))?;
    known_gate(workflow, to)?;
    // A finished task has no open visit: what is taken up again begins where and when it is.
    let from = task.gate.clone().unwrap_or_else(|| OpenVisit {
        current: task.history.last().map_or_else(|| to.clone(), |visit| visit.gate.clone()),
        entered: now.max(task.latest()),
        visit: task.history.len(),
        escalated: None,
    });
    let mut visit = entry(rules, task, &from, ending, by, reason, now)?;
    visit.to = Some(Destination::Gate(to.clone()));
    let mut after = task.clone();
    fold::apply(rules, &mut after, visit);
    let events = fold::hold_if_stuck(rules, &mut after);
    Ok(Step { task: after, work: None, events, warnings: Vec::new() })
}

fn entry(
    rules: &Rules,
    task: &Task,
    open: &OpenVisit,
    ending: Ending,
    by: &Actor,
    reason: &str,
    now: Timestamp,
) -> Result<Visit, Refusal> {
    if reason.trim().is_empty() {
        let act = match ending {
            Ending::Cancelled => "cancel",
            Ending::Reopened => "reopen",
            _ => "override",
        };
        return Err(Refusal::MissingReason { act });
    }
    let workflow = rules.workflow_of(task);
    let gate = workflow.and_then(|workflow| workflow.gate(&open.current)).map(|(_, gate)| gate);
    let role = open.escalated.as_ref().or_else(|| gate.and_then(Gate::role)).or(task.routing.role.as_ref());
    let last = task.history.last().and_then(|visit| visit.role.as_ref());
    Ok(Visit {
        role: role.or(last).cloned(),
        agent: by.agent().cloned(),
        exited: now.max(task.latest()),
        summary: reason.trim().to_owned(),
        workflow: workflow.and_then(|workflow| rules.hash(&workflow.name)).map(str::to_owned),
        ..blank(&open.current, open, ending)
    })
}

fn known_gate(workflow: &Workflow, to: &GateId) -> Result<(), Refusal> {
    if workflow.gate(to).is_some() {
        return Ok(());
    }
    Err(Refusal::UnknownGate { given: to.clone(), known: workflow.gates.iter().map(|gate| gate.id.clone()).collect() })
}

/// People may; an agent may what org.yaml lets it, and call off or set going the task it holds.
fn permit(rules: &Rules, task: &Task, by: &Actor, act: Permission) -> Result<(), Refusal> {
    let Actor::Agent(agent) = by else { return Ok(()) };
    let holds = task.routing.agent.as_ref() == Some(agent);
    let allowed = rules.org.agent(agent).is_some_and(|known| known.may.contains(&act));
    if allowed || holds {
        return Ok(());
    }
    Err(Refusal::NotPermitted { agent: agent.clone(), act })
}
