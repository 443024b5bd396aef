//! Claims: an agent takes a task, or a branch of one, or is given it, and gives it back.

use super::actions;
use super::actions::permit;
use super::completion::{open_now, post};
use super::guard;
use crate::domain::{
    AgentId, BranchStatus, Event, GateId, OpenVisit, Permission, Routing, Station, Status, Task,
    Ticket, Timestamp,
};
use crate::rules::decide::{Actor, Decision, Step};
use crate::rules::refusal::Refusal;
use crate::rules::routing::branch;
use crate::rules::routing::fork;
use crate::rules::workflow::rules::Rules;

pub(crate) fn claim(
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
    let own = branch
        .as_ref()
        .and_then(|id| open.branch(id))
        .filter(|own| own.status == BranchStatus::Blocked);
    if task.status == Status::Blocked || own.is_some() {
        let blockers = own.map_or_else(|| task.blockers.clone(), |own| own.blockers.clone());
        return Err(Refusal::Blocked {
            ticket: task.ticket_of(branch.as_ref()).without_visit(),
            blockers,
        });
    }
    let mut after = task.clone();
    hand_out(&mut after, branch.as_ref(), agent, now.max(task.updated));
    Ok(Decision::Step(Box::new(Step::silent(after))))
}

fn hand_out(task: &mut Task, branch: Option<&GateId>, agent: &AgentId, now: Timestamp) {
    task.updated = now;
    if let (Some(id), Some(open)) = (branch, &mut task.gate) {
        for own in open.branches.iter_mut().filter(|own| own.id == *id) {
            own.agent = Some(agent.clone());
            own.claimed = Some(now);
            own.lost.take_if(|lost| *lost == *agent);
            own.status = BranchStatus::InProgress;
        }
        fork::follow(task);
    } else {
        task.routing.agent = Some(agent.clone());
        task.routing.claimed = Some(now);
        task.routing.lost.take_if(|lost| *lost == *agent);
        task.status = Status::InProgress;
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
    let open = open_now(task)?;
    permit(rules, task, by, Permission::Assign, branch)?;
    if let Some(id) =
        branch.filter(|id| fork::counting(rules, task, open).iter().all(|own| own.id != **id))
    {
        return Err(no_branch(rules, task, id, open));
    }
    // Which branch is meant is asked as if nobody had any of them; only that one is taken from whoever has it.
    let meant = Ticket { branch: branch.cloned(), ..task.ticket() };
    let branch = branch::meant(rules, &without_agents(task, None), &meant, agent)?;
    if post(rules, task, open, branch.as_ref())?.holder == Some(agent) {
        return Ok(Decision::Settled { visit: open.visit });
    }
    let free = without_agents(task, branch.as_ref());
    claim(rules, &free, agent, branch.as_ref(), now)
}

/// Puts a task that stands nowhere at its first gate, as the agent's, if that could be given it there.
pub(crate) fn open_for(
    rules: &Rules,
    task: &Task,
    agent: &AgentId,
    now: Timestamp,
) -> Result<Step, Refusal> {
    let routing =
        Routing { role: task.routing.role.clone(), ..Routing::of(task.routing.workflow.clone()) };
    let mut step = actions::open(rules, &Task { routing, ..task.clone() }, now)?;
    if let Decision::Step(given) =
        assign(rules, &step.task, &Actor::Person(None), agent, None, now)?
    {
        let open = given.task.gate.as_ref();
        let own = open
            .into_iter()
            .flat_map(|open| &open.branches)
            .find(|own| own.agent.as_ref() == Some(agent));
        step.events.extend(open.map(|open| Event::Assigned {
            at: Station { gate: open.current.clone(), branch: own.map(|own| own.id.clone()) },
            agent: agent.clone(),
        }));
        step.task = given.task;
    }
    Ok(step)
}

/// Returns the task as if nobody had claimed it, or that branch of it.
fn without_agents(task: &Task, branch: Option<&GateId>) -> Task {
    let mut free = task.clone();
    free.routing.agent.take_if(|_| branch.is_none());
    for own in free.gate.iter_mut().flat_map(|open| &mut open.branches) {
        own.agent.take_if(|_| branch.is_none_or(|id| own.id == *id));
    }
    free
}

/// Says that the work goes on: the claim lasts from now on.
pub(crate) fn renew(
    rules: &Rules,
    task: &Task,
    agent: &AgentId,
    branch: Option<&GateId>,
    now: Timestamp,
) -> Result<Step, Refusal> {
    let open = open_now(task)?;
    let meant = Ticket { branch: branch.cloned(), ..task.ticket() };
    let branch = branch::meant(rules, task, &meant, agent)?;
    let post = post(rules, task, open, branch.as_ref())?;
    match post.holder {
        Some(holder) if holder == agent => {}
        Some(_) => return Err(guard::held_by_another(task, &post, agent)),
        None => return Err(Refusal::NotClaimed { task: task.id.clone() }),
    }
    let mut after = task.clone();
    after.updated = now.max(task.updated);
    let claimed = post
        .branch()
        .and_then(|id| open.branch(id))
        .map_or(task.routing.claimed, |own| own.claimed);
    if claimed == Some(after.updated) {
        // A second later than what is written, so that what is said now is written, too.
        after.updated += jiff::SignedDuration::from_secs(1);
    }
    let now = Some(after.updated);
    match after
        .gate
        .iter_mut()
        .flat_map(|open| &mut open.branches)
        .find(|own| branch.as_ref() == Some(&own.id))
    {
        Some(own) => own.claimed = now,
        None => after.routing.claimed = now,
    }
    Ok(Step::silent(after))
}

fn no_branch(rules: &Rules, task: &Task, id: &GateId, open: &OpenVisit) -> Refusal {
    Refusal::NoSuchBranch {
        ticket: task.ticket_of(Some(id)),
        gate: open.current.clone(),
        open: branch::open_tickets(rules, task),
    }
}

pub(crate) fn release(
    rules: &Rules,
    task: &Task,
    by: &Actor,
    branch: Option<&GateId>,
    now: Timestamp,
) -> Result<Step, Refusal> {
    let open = open_now(task)?;
    let mut after = task.clone();
    after.updated = now.max(task.updated);
    if let Some(id) =
        branch.filter(|id| fork::counting(rules, task, open).iter().all(|own| own.id != **id))
    {
        return Err(no_branch(rules, task, id, open));
    }
    if fork::counting(rules, task, open).is_empty() {
        let Some(holder) = &task.routing.agent else {
            return Err(Refusal::NotClaimed { task: task.id.clone() });
        };
        theirs(task, by, holder, None)?;
        after.routing.agent = None;
        after.routing.claimed = None;
        if after.status == Status::InProgress {
            after.status = Status::Ready;
        }
        return Ok(Step::silent(after));
    }
    let id = claimed_branch(rules, task, open, by, branch)?.clone();
    for own in after.gate.iter_mut().flat_map(|open| &mut open.branches).filter(|own| own.id == id)
    {
        own.agent = None;
        own.claimed = None;
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
            Err(guard::another_has(task, branch, holder.clone(), agent))
        }
        _ => Ok(()),
    }
}
