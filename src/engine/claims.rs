//! Claims: an agent takes a task, or a branch of one, and gives it back.

use super::branch;
use super::complete::{open_now, post};
use super::decide::{Actor, Decision, Step};
use super::fork;
use super::guard;
use super::refusal::Refusal;
use super::rules::Rules;
use crate::model::{AgentId, BranchStatus, GateId, OpenVisit, Status, Task, Ticket, Timestamp};

pub(super) fn claim(
    rules: &Rules,
    task: &Task,
    agent: &AgentId,
    branch: Option<&GateId>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let open = open_now(task)?;
    let ticket = Ticket { task: task.id.clone(), visit: None, branch: branch.cloned() };
    let branch = branch::meant(rules, task, &ticket, agent)?;
    let post = post(rules, task, open, branch.as_ref())?;
    guard::may_complete(rules, task, &post, agent)?;
    if post.holder.is_some() {
        return Ok(Decision::Settled { visit: open.visit });
    }
    let own = branch.as_ref().and_then(|id| open.branch(id)).filter(|own| own.status == BranchStatus::Blocked);
    if task.status == Status::Blocked || own.is_some() {
        let blockers = own.map_or_else(|| task.blockers.clone(), |own| own.blockers.clone());
        return Err(Refusal::Blocked { ticket: task.ticket_of(branch.as_ref()).without_visit(), blockers });
    }
    let mut after = task.clone();
    hand_out(&mut after, branch.as_ref(), agent);
    after.updated = now.max(task.updated);
    Ok(Decision::Step(Box::new(Step::silent(after))))
}

fn hand_out(task: &mut Task, branch: Option<&GateId>, agent: &AgentId) {
    if let (Some(id), Some(open)) = (branch, &mut task.gate) {
        for own in open.branches.iter_mut().filter(|own| own.id == *id) {
            own.agent = Some(agent.clone());
            own.status = BranchStatus::InProgress;
        }
        fork::follow(task);
    } else {
        task.routing.agent = Some(agent.clone());
        task.status = Status::InProgress;
    }
}

pub(super) fn release(
    rules: &Rules,
    task: &Task,
    by: &Actor,
    branch: Option<&GateId>,
    now: Timestamp,
) -> Result<Step, Refusal> {
    let open = open_now(task)?;
    let mut after = task.clone();
    after.updated = now.max(task.updated);
    if let Some(id) = branch.filter(|id| fork::counting(rules, task, open).iter().all(|own| own.id != **id)) {
        return Err(Refusal::NoSuchBranch {
            ticket: task.ticket_of(Some(id)),
            gate: open.current.clone(),
            open: branch::open_tickets(rules, task),
        });
    }
    if fork::counting(rules, task, open).is_empty() {
        let Some(holder) = &task.routing.agent else {
            return Err(Refusal::NotClaimed { task: task.id.clone() });
        };
        theirs(task, by, holder, None)?;
        after.routing.agent = None;
        if after.status == Status::InProgress {
            after.status = Status::Ready;
        }
        return Ok(Step::silent(after));
    }
    let id = claimed_branch(rules, task, open, by, branch)?.clone();
    for own in after.gate.iter_mut().flat_map(|open| &mut open.branches).filter(|own| own.id == id) {
        own.agent = None;
        own.status = BranchStatus::Ready;
    }
    fork::follow(&mut after);
    Ok(Step::silent(after))
}

/// Returns the claimed branch that is meant: the one that is named, else the only one whose claim whoever acts may end.
fn claimed_branch<'a>(
    rules: &Rules,
    task: &Task,
    open: &'a OpenVisit,
    by: &Actor,
    branch: Option<&GateId>,
) -> Result<&'a GateId, Refusal> {
    let asked = open.branches.iter().filter(|own| branch.is_none_or(|id| own.id == *id));
    let claimed: Vec<(&GateId, &AgentId)> = asked.filter_map(|own| Some((&own.id, own.agent.as_ref()?))).collect();
    let own = claimed.iter().filter(|(id, holder)| theirs(task, by, holder, Some(id)).is_ok());
    match (&own.collect::<Vec<_>>()[..], &claimed[..]) {
        ([(id, _)], _) => Ok(id),
        ([], [(id, holder), ..]) => {
            theirs(task, by, holder, Some(id))?;
            Ok(id)
        }
        ([], []) => Err(Refusal::NotClaimed { task: task.id.clone() }),
        _ => Err(Refusal::BranchNeeded {
            task: task.id.clone(),
            gate: open.current.clone(),
            open: branch::open_tickets(rules, task),
        }),
    }
}

/// A person may end any claim, an agent its own.
fn theirs(task: &Task, by: &Actor, holder: &AgentId, branch: Option<&GateId>) -> Result<(), Refusal> {
    match by {
        Actor::Agent(agent) if agent != holder => Err(Refusal::AssignedToAnother {
            ticket: task.ticket_of(branch).without_visit(),
            holder: holder.clone(),
            agent: agent.clone(),
        }),
        _ => Ok(()),
    }
}
