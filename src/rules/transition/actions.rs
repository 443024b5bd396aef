//! What is done with a task besides working at it: opened, set going, called off, taken up again, moved.

use super::completion::{
    arrive, blank, looping, open_now, pass, passes_by_itself, unknown_workflow,
};
use super::dependencies::lost_dependencies;
use super::fold;
use super::warning::Warning;
use crate::domain::{
    BranchStatus, Destination, Ending, Event, Gate, GateId, OpenBranch, OpenVisit, Permission,
    Status, Task, Timestamp, Visit, Workflow,
};
use crate::rules::decide::{Actor, Step};
use crate::rules::refusal::Refusal;
use crate::rules::routing::branch;
use crate::rules::routing::fork;
use crate::rules::routing::route;
use crate::rules::workflow::rules::Rules;

pub(crate) fn open(rules: &Rules, task: &Task, now: Timestamp) -> Result<Step, Refusal> {
    if let Some(open) = &task.gate {
        return Err(Refusal::NotFinished { task: task.id.clone(), gate: open.current.clone() });
    }
    if !task.history.is_empty() {
        return Err(Refusal::Finished {
            task: task.id.clone(),
            status: task.status,
            at: task.latest(),
        });
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
    let mut events: Vec<Event> =
        passage.skipped.into_iter().map(|gate| Event::Skipped { gate }).collect();
    events.extend(passage.trouble.iter().cloned().map(Event::ConditionError));
    let warnings = passage.trouble.into_iter().map(Warning::ConditionError).collect();
    Ok(arrive(rules, Step { task: after, work: None, events, warnings }))
}

pub(crate) fn unblock(
    rules: &Rules,
    task: &Task,
    by: &Actor,
    branch: Option<&GateId>,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<Step, Refusal> {
    let open = open_now(task)?;
    permit(rules, task, by, Permission::Unblock, branch)?;
    let held = |own: &OpenBranch| {
        own.status == BranchStatus::Blocked && branch.is_none_or(|id| own.id == *id)
    };
    let counting = fork::counting(rules, task, open);
    let on_hold = open.held.is_some();
    if on_hold && branch.is_some() {
        return Err(Refusal::Held { task: task.id.clone(), reasons: task.blockers.clone() });
    }
    let waits = on_hold || counting.iter().any(held);
    if let Some(id) = branch.filter(|id| counting.iter().all(|own| own.id != **id)) {
        return Err(Refusal::NoSuchBranch {
            ticket: task.ticket_of(Some(id)),
            gate: open.current.clone(),
            open: branch::open_tickets(rules, task),
        });
    }
    if !waits && passes_by_itself(rules, task) {
        // The rules took away whoever was waited for: what was said until then is judged.
        return pass(rules, task, now);
    }
    if !waits && (task.status != Status::Blocked || branch.is_some()) {
        return Err(Refusal::NotBlocked { task: task.id.clone(), status: task.status });
    }
    if looping(rules, task).is_some() {
        // The count starts again, and the history must say that a person wanted it: an override to the same gate.
        let reason = reason.ok_or(Refusal::MissingReason { act: "unblock" })?;
        return moved(rules, task, Ending::Override, by, &open.current.clone(), reason, now);
    }
    let mut after = task.clone();
    resume(&mut after, now.max(task.updated));
    if !counting.is_empty() {
        // Whoever lifts a hold speaks for no branch that waits for something of its own.
        for own in after
            .gate
            .iter_mut()
            .flat_map(|open| &mut open.branches)
            .filter(|own| !on_hold && held(own))
        {
            own.status = BranchStatus::Ready;
            own.resumed = Some(after.updated);
            own.overdue = None;
            own.blockers = Vec::new();
        }
        fork::follow(&mut after);
    }
    let events = fold::hold_if_stuck(rules, &mut after);
    if !on_hold && obstacles(&after) == obstacles(task) {
        let blockers = after.gate.iter().flat_map(|open| &open.branches).filter(|own| held(own));
        let blockers = blockers.flat_map(|own| own.blockers.clone()).collect();
        let blockers = if waits { blockers } else { task.blockers.clone() };
        return Err(Refusal::Blocked { ticket: task.ticket_of(branch).without_visit(), blockers });
    }
    Ok(Step { task: after, work: None, events, warnings: Vec::new() })
}

/// Returns what stands in the way of a task and of its branches; nothing where nothing does.
fn obstacles(task: &Task) -> Vec<(Option<&GateId>, &[String])> {
    let branches = task.gate.iter().flat_map(|open| &open.branches);
    let blocked = branches.filter(|own| own.status == BranchStatus::Blocked);
    let own = blocked.map(|own| (Some(&own.id), own.blockers.as_slice()));
    let whole = (task.status == Status::Blocked).then_some((None, task.blockers.as_slice()));
    whole.into_iter().chain(own).collect()
}

/// Sets the whole task going again, unless it depends on what is lost. Time limits and claims count from now on.
pub(crate) fn resume(task: &mut Task, now: Timestamp) {
    task.blockers = lost_dependencies(task).iter().map(ToString::to_string).collect();
    task.status = match &task.routing.agent {
        _ if !task.blockers.is_empty() => Status::Blocked,
        Some(_) => Status::InProgress,
        None => Status::Ready,
    };
    task.updated = now;
    task.routing.claimed = task.routing.agent.as_ref().map(|_| now);
    if let Some(open) = &mut task.gate {
        let held = open.held.take().is_some();
        open.resumed = Some(now);
        open.overdue = None;
        if held {
            restart(task);
        }
    }
}

/// Gives all open branches a full term, from the task's last change on.
pub(crate) fn restart(task: &mut Task) {
    let now = task.updated;
    let branches = task.gate.iter_mut().flat_map(|open| &mut open.branches);
    for own in branches.filter(|own| own.status.is_open()) {
        own.resumed = Some(now);
        own.overdue = None;
        own.claimed = own.agent.as_ref().map(|_| now);
    }
}

/// Holds the task where it is, whoever works at it: nothing is completed until a person sets it going again.
pub(crate) fn hold(
    rules: &Rules,
    task: &Task,
    by: &Actor,
    reason: &str,
    now: Timestamp,
) -> Result<Step, Refusal> {
    let open = open_now(task)?;
    permit(rules, task, by, Permission::Hold, None)?;
    if reason.trim().is_empty() {
        return Err(Refusal::MissingReason { act: "hold" });
    }
    if open.held.is_some() {
        return Err(Refusal::Held { task: task.id.clone(), reasons: task.blockers.clone() });
    }
    let mut after = task.clone();
    after.updated = now.max(task.updated);
    after.status = Status::Blocked;
    after.blockers.push(reason.trim().to_owned());
    if let Some(open) = &mut after.gate {
        open.held = Some(after.updated);
    }
    Ok(Step::silent(after))
}

pub(crate) fn cancel(
    rules: &Rules,
    task: &Task,
    by: &Actor,
    reason: &str,
    now: Timestamp,
) -> Result<Step, Refusal> {
    let open = open_now(task)?;
    permit(rules, task, by, Permission::Cancel, None)?;
    let entry = entry(rules, task, open, Ending::Cancelled, by, reason, now)?;
    let mut after = task.clone();
    fold::apply(rules, &mut after, entry);
    Ok(Step::silent(after))
}

pub(crate) fn reopen(
    rules: &Rules,
    task: &Task,
    by: &Actor,
    to: &GateId,
    reason: &str,
    now: Timestamp,
) -> Result<Step, Refusal> {
    permit(rules, task, by, Permission::Reopen, None)?;
    if let Some(open) = &task.gate {
        return Err(Refusal::NotFinished { task: task.id.clone(), gate: open.current.clone() });
    }
    moved(rules, task, Ending::Reopened, by, to, reason, now)
}

pub(crate) fn override_to(
    rules: &Rules,
    task: &Task,
    by: &Actor,
    to: &GateId,
    reason: &str,
    now: Timestamp,
) -> Result<Step, Refusal> {
    open_now(task)?;
    permit(rules, task, by, Permission::Override, None)?;
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
    let from = task.gate.clone().unwrap_or_else(|| {
        let last = task.history.last().map_or_else(|| to.clone(), |visit| visit.gate.clone());
        OpenVisit::at(last, now.max(task.latest()), task.history.len())
    });
    let mut visit = entry(rules, task, &from, ending, by, reason, now)?;
    visit.to = Some(Destination::Gate(to.clone()));
    let mut after = task.clone();
    fold::apply(rules, &mut after, visit);
    Ok(arrive(rules, Step::silent(after)))
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
    Ok(Visit { agent: by.agent().cloned(), ..ended(rules, task, open, ending, reason, now) })
}

/// Returns the entry of a visit that no completion ended.
pub(crate) fn ended(
    rules: &Rules,
    task: &Task,
    open: &OpenVisit,
    ending: Ending,
    why: &str,
    now: Timestamp,
) -> Visit {
    let workflow = rules.workflow_of(task);
    let gate = workflow.and_then(|workflow| workflow.gate(&open.current)).map(|(_, gate)| gate);
    let role = open
        .escalated
        .as_ref()
        .or_else(|| gate.and_then(Gate::role))
        .or(task.routing.role.as_ref());
    let last = task
        .history
        .last()
        .and_then(|visit| visit.role.as_ref())
        .filter(|_| open.branches.is_empty());
    Visit {
        role: role.or(last).cloned(),
        exited: now.max(task.latest()),
        summary: why.trim().to_owned(),
        unfinished: fork::unfinished(open),
        workflow: workflow.and_then(|workflow| rules.hash(&workflow.name)).map(str::to_owned),
        ..blank(&open.current, open, ending)
    }
}

fn known_gate(workflow: &Workflow, to: &GateId) -> Result<(), Refusal> {
    if workflow.gate(to).is_some() {
        return Ok(());
    }
    Err(Refusal::UnknownGate {
        given: to.clone(),
        known: workflow.gates.iter().map(|gate| gate.id.clone()).collect(),
    })
}

/// People may; an agent may what org.yaml lets it, and what it likes with the task it holds. Whoever holds one branch of a task
/// does not hold the task: it may do only what is asked of that branch.
pub(crate) fn permit(
    rules: &Rules,
    task: &Task,
    by: &Actor,
    act: Permission,
    branch: Option<&GateId>,
) -> Result<(), Refusal> {
    let Actor::Agent(agent) = by else { return Ok(()) };
    let holder = match branch {
        Some(id) => task.gate.as_ref().and_then(|open| open.branch(id)?.agent.as_ref()),
        None => task.routing.agent.as_ref(),
    };
    let holds = holder == Some(agent);
    let allowed = rules.org.agent(agent).is_some_and(|known| known.may.contains(&act));
    if allowed || holds {
        return Ok(());
    }
    Err(Refusal::NotPermitted { agent: agent.clone(), act })
}
