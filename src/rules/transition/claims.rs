//! Claims: an agent takes a task, or a branch of one, or is given it, and gives it back.

use super::visit::{open_visit, workplace};
use crate::domain::{
    AgentId, BranchStatus, GateId, OpenVisit, Permission, Status, Task, Ticket, Timestamp,
};
use crate::rules::act::{Actor, Decision, WorkflowStep};
use crate::rules::refusal::Refusal;
use crate::rules::routing::branch;
use crate::rules::routing::eligibility::{another_has, held_by_another, may_complete, permit};
use crate::rules::routing::fork;
use crate::rules::workflow::rules::Rules;

pub(crate) fn claim(
    rules: &Rules,
    task: &Task,
    agent: &AgentId,
    branch: Option<&GateId>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let open = open_visit(task)?;
    let ticket = Ticket { task: task.id.clone(), visit: None, branch: branch.cloned() };
    let branch = branch::meant(rules, task, &ticket, agent)?;
    let post = workplace(rules, task, open, branch.as_ref())?;
    may_complete(rules, task, &post, agent)?;
    if post.holder.is_some() {
        return Ok(Decision::Settled { visit: open.visit });
    }
    let own = branch.as_ref().and_then(|id| open.branch(id));
    let own = own.filter(|own| own.status == BranchStatus::Blocked);
    if task.status == Status::Blocked || own.is_some() {
        return Err(Refusal::Blocked {
            ticket: task.ticket_of(branch.as_ref()).without_visit(),
            blockers: own.map_or(&task.blockers, |own| &own.blockers).clone(),
        });
    }
    let mut after = task.clone();
    after.updated = now.max(task.updated);
    set_holder(&mut after, branch.as_ref(), Some(agent));
    Ok(WorkflowStep::silent(after).into())
}

/// Gives the task, or the branch of it, to an agent as of its last change; without one, to nobody.
pub(crate) fn set_holder(task: &mut Task, branch: Option<&GateId>, agent: Option<&AgentId>) {
    let claimed = agent.map(|_| task.updated);
    if let Some(own) = task.branch_mut(branch) {
        (own.agent, own.claimed) = (agent.cloned(), claimed);
        own.lost.take_if(|lost| agent == Some(lost));
        own.status = if agent.is_some() { BranchStatus::InProgress } else { BranchStatus::Ready };
        fork::follow(task);
        return;
    }
    (task.routing.agent, task.routing.claimed) = (agent.cloned(), claimed);
    task.routing.lost.take_if(|lost| agent == Some(lost));
    if agent.is_some() {
        task.status = Status::InProgress;
    } else if task.status == Status::InProgress {
        task.status = Status::Ready;
    }
}

/// Gives the task, or the branch of it, to an agent, whoever has it now.
pub(crate) fn assign(
    rules: &Rules,
    task: &Task,
    by: &Actor,
    agent: &AgentId,
    branch: Option<&GateId>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let open = open_visit(task)?;
    permit(rules, task, by, Permission::Assign, branch)?;
    known_branch(rules, task, open, branch)?;
    // Which branch is meant is asked as if nobody had any of them; only that one is taken from whoever has it.
    let meant = Ticket { branch: branch.cloned(), ..task.ticket() };
    let branch = branch::meant(rules, &without_agents(task, None), &meant, agent)?;
    if workplace(rules, task, open, branch.as_ref())?.holder == Some(agent) {
        return Ok(Decision::Settled { visit: open.visit });
    }
    let free = without_agents(task, branch.as_ref());
    claim(rules, &free, agent, branch.as_ref(), now)
}

/// Returns the task as if nobody had claimed it, or that branch of it.
fn without_agents(task: &Task, branch: Option<&GateId>) -> Task {
    let mut free = task.clone();
    free.routing.agent.take_if(|_| branch.is_none());
    for own in free.branches_mut() {
        own.agent.take_if(|_| branch.is_none_or(|id| own.id == *id));
    }
    free
}

/// Renews a claim: it lasts from now on.
pub(crate) fn renew(
    rules: &Rules,
    task: &Task,
    agent: &AgentId,
    branch: Option<&GateId>,
    now: Timestamp,
) -> Result<WorkflowStep, Refusal> {
    let open = open_visit(task)?;
    let meant = Ticket { branch: branch.cloned(), ..task.ticket() };
    let branch = branch::meant(rules, task, &meant, agent)?;
    let post = workplace(rules, task, open, branch.as_ref())?;
    match post.holder {
        Some(holder) if holder == agent => {}
        Some(_) => return Err(held_by_another(task, &post, agent)),
        None => return Err(Refusal::NotClaimed { task: task.id.clone() }),
    }
    let mut after = task.clone();
    let mut updated = now.max(task.updated);
    let claimed = match after.branch_mut(branch.as_ref()) {
        Some(own) => &mut own.claimed,
        None => &mut after.routing.claimed,
    };
    if *claimed == Some(updated) {
        // A second later than what is written, so that something changes.
        updated += jiff::SignedDuration::from_secs(1);
    }
    *claimed = Some(updated);
    after.updated = updated;
    Ok(WorkflowStep::silent(after))
}

/// Refuses a branch that is not open, or that the rules do not have.
fn known_branch(
    rules: &Rules,
    task: &Task,
    open: &OpenVisit,
    branch: Option<&GateId>,
) -> Result<(), Refusal> {
    let counting = fork::counting(rules, task, open);
    match branch.filter(|id| counting.iter().all(|own| own.id != **id)) {
        None => Ok(()),
        Some(id) => Err(branch::not_open(rules, task, open, id)),
    }
}

pub(crate) fn release(
    rules: &Rules,
    task: &Task,
    by: &Actor,
    branch: Option<&GateId>,
    now: Timestamp,
) -> Result<WorkflowStep, Refusal> {
    let open = open_visit(task)?;
    let mut after = task.clone();
    after.updated = now.max(task.updated);
    known_branch(rules, task, open, branch)?;
    let branch = if fork::counting(rules, task, open).is_empty() {
        let Some(holder) = &task.routing.agent else {
            return Err(Refusal::NotClaimed { task: task.id.clone() });
        };
        theirs(task, by, holder, None)?;
        None
    } else {
        Some(claimed_branch(rules, task, open, by, branch)?)
    };
    set_holder(&mut after, branch, None);
    Ok(WorkflowStep::silent(after))
}

/// Returns the claimed branch that is meant: the one that is named, else the only one whose claim the actor may end.
fn claimed_branch<'a>(
    rules: &Rules,
    task: &Task,
    open: &'a OpenVisit,
    by: &Actor,
    branch: Option<&GateId>,
) -> Result<&'a GateId, Refusal> {
    let asked = open.branches.iter().filter(|own| branch.is_none_or(|id| own.id == *id));
    let claimed: Vec<(&GateId, &AgentId)> =
        asked.filter_map(|own| Some((&own.id, own.agent.as_ref()?))).collect();
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
fn theirs(
    task: &Task,
    by: &Actor,
    holder: &AgentId,
    branch: Option<&GateId>,
) -> Result<(), Refusal> {
    match by {
        Actor::Agent(agent) if agent != holder => {
            Err(another_has(task, branch, holder.clone(), agent))
        }
        _ => Ok(()),
    }
}
