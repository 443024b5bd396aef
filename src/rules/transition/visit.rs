//! The open visit: where a task stands, and the entry that its history gets when the visit ends.

use crate::domain::{
    Destination, Ending, Gate, GateId, Map, OpenVisit, Task, Ticket, Timestamp, Visit, Workflow,
};
use crate::rules::refusal::Refusal;
use crate::rules::routing::branch;
use crate::rules::routing::fork;
use crate::rules::routing::workplace::Workplace;
use crate::rules::workflow::rules::Rules;

/// Returns the open visit; refused where the task has ended, or stands nowhere yet.
pub(crate) fn open_visit(task: &Task) -> Result<&OpenVisit, Refusal> {
    if task.status.is_finished() {
        return Err(finished(task));
    }
    task.gate.as_ref().ok_or_else(|| Refusal::NotAdopted { task: task.id.clone() })
}

pub(crate) fn finished(task: &Task) -> Refusal {
    Refusal::Finished { task: task.id.clone(), status: task.status, at: task.latest() }
}

pub(crate) fn workflow_of<'a>(rules: &'a Rules, task: &Task) -> Result<&'a Workflow, Refusal> {
    rules.workflow_of(task).ok_or_else(|| Refusal::UnknownWorkflow {
        task: task.id.clone(),
        workflow: task.routing.workflow.to_string(),
        known: rules.project.workflows.iter().map(|workflow| workflow.name.to_string()).collect(),
    })
}

/// Returns the workflow in force and the place of the open gate in it.
pub(crate) fn gate_in_force<'a>(
    rules: &'a Rules,
    task: &Task,
    open: &OpenVisit,
) -> Result<(&'a Workflow, usize), Refusal> {
    let workflow = workflow_of(rules, task)?;
    match workflow.gate(&open.current) {
        Some((index, _)) => Ok((workflow, index)),
        None => Err(Refusal::GateGone {
            task: task.id.clone(),
            gate: open.current.clone(),
            known: workflow.gates.iter().map(|gate| gate.id.clone()).collect(),
        }),
    }
}

/// Returns the place of work of the open visit, or of a branch of it.
pub(crate) fn workplace<'a>(
    rules: &'a Rules,
    task: &'a Task,
    open: &OpenVisit,
    branch: Option<&GateId>,
) -> Result<Workplace<'a>, Refusal> {
    gate_in_force(rules, task, open)?;
    let gate = open.current.clone();
    match (Workplace::meant(rules, task, branch), branch) {
        (Some(post), _) => Ok(post),
        (None, None) => Err(Refusal::NobodyWorksHere { task: task.id.clone(), gate }),
        // The branch is open, and the rules do not have it any more.
        (None, Some(_)) => Err(Refusal::NoSuchBranch {
            ticket: task.ticket_of(branch),
            gate,
            open: branch::open_tickets(rules, task),
        }),
    }
}

/// Refuses a ticket whose visit has ended, or has not begun.
pub fn may_mean(
    task: &Task,
    ticket: &Ticket,
    agent: Option<&crate::domain::AgentId>,
) -> Result<(), Refusal> {
    let Some(visit) = ticket.visit else { return Ok(()) };
    let current = task.gate.as_ref().map_or(task.history.len(), |open| open.visit);
    if visit > current {
        return Err(Refusal::VisitAhead { task: task.id.clone(), visit, current });
    }
    match branch::ending(&task.history, ticket).filter(|_| visit < current) {
        Some(entry) => Err(Refusal::visit_ended(ticket, entry, agent)),
        None => Ok(()),
    }
}

/// Returns an entry of which nothing is known but what ended and how.
pub(crate) fn blank(open: &OpenVisit, outcome: Ending) -> Visit {
    Visit {
        gate: open.current.clone(),
        branch: None,
        verdict: None,
        join: None,
        unfinished: Vec::new(),
        role: None,
        agent: None,
        entered: open.entered,
        exited: open.entered,
        outcome,
        summary: String::new(),
        blockers: Vec::new(),
        rejection_notes: None,
        to: None,
        skipped: Vec::new(),
        cleared: Vec::new(),
        escalated_to: None,
        retry: None,
        outputs: Map::new(),
        metadata: Map::new(),
        workflow: None,
        completion: None,
        signature: None,
    }
}

/// Returns the entry of a visit that no completion ended.
pub(crate) fn ended(
    rules: &Rules,
    task: &Task,
    open: &OpenVisit,
    ending: Ending,
    to: Option<GateId>,
    why: &str,
    now: Timestamp,
) -> Visit {
    let workflow = rules.workflow_of(task);
    let gate = workflow.and_then(|workflow| workflow.gate(&open.current)).map(|(_, gate)| gate);
    let role = open.escalated.as_ref().or(gate.and_then(Gate::role)).or(task.routing.role.as_ref());
    let last = task.history.last().and_then(|visit| visit.role.as_ref());
    Visit {
        role: role.or(last.filter(|_| open.branches.is_empty())).cloned(),
        exited: now.max(task.latest()),
        summary: why.trim().to_owned(),
        unfinished: fork::unfinished(open),
        to: to.map(Destination::Gate),
        workflow: workflow.and_then(|workflow| rules.hash(&workflow.name)).map(str::to_owned),
        ..blank(open, ending)
    }
}
