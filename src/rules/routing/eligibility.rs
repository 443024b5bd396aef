//! Who may complete a visit, and who may do what else with a task.

use super::workplace::Workplace;
use crate::domain::{AgentId, Completion, Ending, GateId, Identity, Task, Visit};
use crate::rules::refusal::Refusal;
use crate::rules::workflow::rules::Rules;

/// Returns whether the agent may complete the open visit, or why not.
pub fn may_complete(
    rules: &Rules,
    task: &Task,
    post: &Workplace<'_>,
    agent: &AgentId,
) -> Result<(), Refusal> {
    let members = || rules.org.role(post.role).map(|role| role.agents.clone()).unwrap_or_default();
    let gate = &post.station();
    if post.holder.is_some_and(|holder| holder != agent) {
        return Err(held_by_another(task, post, agent));
    }
    if post.requires_human(rules) && !agent.is_human() {
        return Err(Refusal::HumanRequired {
            gate: gate.clone(),
            role: post.role.clone(),
            agent: agent.clone(),
            people: members().into_iter().filter(AgentId::is_human).collect(),
        });
    }
    let holds_it = post.holder == Some(agent);
    if !holds_it && !rules.is_open(post.role) && !members().contains(agent) {
        return Err(Refusal::WrongRole {
            task: task.id.clone(),
            gate: gate.clone(),
            role: post.role.clone(),
            agent: agent.clone(),
            roles: rules.org.roles_of(agent).cloned().collect(),
            members: members(),
        });
    }
    separate(task, post, Identity::Agent, |visit| visit.agent.as_ref() == Some(agent))
        .map_or(Ok(()), |done| Err(not_separate(task, post, agent, done)))
}

/// Returns the refusal for an agent that does not have what another has: a conflict if it had it before and let its claim end.
pub(crate) fn held_by_another(task: &Task, post: &Workplace<'_>, agent: &AgentId) -> Refusal {
    match post.holder.cloned() {
        Some(holder) => another_has(task, post.branch(), holder, agent),
        None => Refusal::NotClaimed { task: task.id.clone() },
    }
}

/// Returns the same, where it is known who has it.
pub(crate) fn another_has(
    task: &Task,
    branch: Option<&GateId>,
    holder: AgentId,
    agent: &AgentId,
) -> Refusal {
    let ticket = task.ticket_of(branch).without_visit();
    let own = branch.and_then(|id| task.gate.as_ref()?.branch(id));
    let lost = own.map_or(task.routing.lost.as_ref(), |own| own.lost.as_ref());
    if lost == Some(agent) {
        Refusal::ClaimLost { ticket, holder, agent: agent.clone() }
    } else {
        Refusal::AssignedToAnother { ticket, holder, agent: agent.clone() }
    }
}

/// Returns whether the completion is somebody else's than the work that this gate keeps apart from, as far as its session tells.
pub(crate) fn separate_session(
    task: &Task,
    post: &Workplace<'_>,
    completion: &Completion,
) -> Result<(), Refusal> {
    let session = completion.metadata.get("session");
    let same = |visit: &Visit| {
        session.is_none() || visit.metadata.get("session").is_none_or(|own| Some(own) == session)
    };
    separate(task, post, Identity::Session, same)
        .map_or(Ok(()), |done| Err(not_separate(task, post, &completion.agent, done)))
}

/// Returns the last work at a gate that this one keeps apart from, if it was the same worker's.
fn separate<'a>(
    task: &'a Task,
    post: &Workplace<'_>,
    by: Identity,
    same: impl Fn(&Visit) -> bool,
) -> Option<&'a Visit> {
    let duty = post.duty;
    let worked = |visit: &&Visit| {
        let somebody = visit.agent.is_some() && matches!(visit.outcome, Ending::Said(_));
        somebody && duty.separate_from.contains(&visit.gate) && same(visit)
    };
    task.history.iter().rev().filter(|_| duty.separate_by == by).find(worked)
}

fn not_separate(task: &Task, post: &Workplace<'_>, agent: &AgentId, done: &Visit) -> Refusal {
    Refusal::NotSeparate {
        task: task.id.clone(),
        gate: post.station(),
        agent: agent.clone(),
        by: post.duty.separate_by,
        worked_at: done.gate.clone(),
    }
}
