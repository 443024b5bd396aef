//! The places of work that wait for somebody, and what agents have of them, as summaries tell it: what handing out goes by.

use crate::domain::{AgentId, Identity, OpenBranch, RoleId, Ticket};
use crate::project::active_rules::InForce;
use crate::rules::{Gift, Hands, Waiting, Workplace};
use crate::tasks::headers::ended_visit::EndedVisit;
use crate::tasks::headers::summary::{TaskSummary, gate_of, time};

/// Returns what of the task can be claimed: the whole, or branches of it. Whether the task may be handed out at all is not asked.
pub(crate) fn waiting(in_force: &InForce, task: &TaskSummary) -> Vec<Waiting> {
    let is_whole = task.routing.agent.is_none() && task.open_branches.is_empty();
    let whole = is_whole.then_some(None).into_iter();
    whole
        .chain(task.ready_branches().map(Some))
        .filter_map(|branch| place(in_force, task, branch))
        .collect()
}

/// Returns the place; nothing where the rules let nobody work.
fn place(in_force: &InForce, task: &TaskSummary, branch: Option<&OpenBranch>) -> Option<Waiting> {
    let rules = &in_force.rules;
    let gate = gate_of(rules, task)?;
    let post = match branch {
        None => Workplace::at(gate)?,
        Some(branch) => {
            let own = gate.fork()?.branches.iter().find(|own| *own.id() == branch.id)?;
            Workplace::at_branch(gate, own)
        }
    };
    let role = branch.map_or(task.role.as_ref(), |branch| Some(&branch.role))?;
    let post = Workplace { role, ..post };
    let station = post.station().to_string();
    let worked = || task.visits.iter().rev().filter(|visit| visit.completed);
    let kept_apart = |visit: &&EndedVisit| {
        let gate = visit.gate.split('/').next().unwrap_or_default();
        post.duty.separate_by == Identity::Agent
            && post.duty.separate_from.iter().any(|from| from.as_str() == gate)
    };
    Some(Waiting {
        ticket: ticket(task, branch),
        people_only: post.requires_human(rules),
        priority: task.priority(),
        created: task.created,
        before: worked().find(|visit| visit.gate.as_str() == station).and_then(agent),
        apart: worked().filter(kept_apart).filter_map(agent).collect(),
        lost: branch.map_or(&task.routing.lost, |branch| &branch.lost).clone(),
        role: role.clone(),
    })
}

/// Returns what agents have of these tasks, and what each role gave last. When a visit that has ended was claimed nobody
/// knows any more: it counts from when it began.
pub(crate) fn hands<'t>(tasks: impl IntoIterator<Item = &'t TaskSummary>) -> Hands {
    let mut hands = Hands::default();
    for task in tasks {
        let gift = |at, branch: Option<&OpenBranch>, agent| Gift {
            at,
            priority: task.priority(),
            created: task.created,
            ticket: ticket(task, branch),
            agent,
        };
        let whole = (&task.routing.agent, task.role.as_ref(), task.routing.claimed, None);
        let branches = task
            .open_branches
            .iter()
            .map(|own| (&own.agent, Some(&own.role), own.claimed, Some(own)));
        for (holder, role, claimed, branch) in std::iter::once(whole).chain(branches) {
            let Some(holder) = holder else { continue };
            hands.hold(holder.clone());
            if let Some(role) = role {
                let given = gift(claimed.unwrap_or(task.updated), branch, holder.clone());
                hands.give(role.clone(), given);
            }
        }
        for visit in &task.visits {
            let role = visit.role.as_deref().and_then(|role| role.parse().ok());
            if let (Some(role), Some(agent)) = (role, agent(visit)) {
                hands.give(role, gift(time(visit.entered), None, agent));
            }
        }
    }
    hands
}

/// Returns what is claimed: of a fork a branch of the visit that is open.
pub(crate) fn ticket(task: &TaskSummary, branch: Option<&OpenBranch>) -> Ticket {
    Ticket {
        task: task.id.clone(),
        visit: branch.map(|_| task.visit()),
        branch: branch.map(|branch| branch.id.clone()),
    }
}

/// Returns what the agent has of the task.
pub(crate) fn held_by(task: &TaskSummary, agent: &AgentId, role: Option<&RoleId>) -> Vec<Ticket> {
    let mine = |holder: Option<&AgentId>, of: Option<&RoleId>| {
        holder == Some(agent) && role.is_none_or(|role| of == Some(role))
    };
    let whole = mine(task.routing.agent.as_ref(), task.role.as_ref()).then_some(None);
    let branches =
        task.open_branches.iter().filter(|own| mine(own.agent.as_ref(), Some(&own.role)));
    whole.into_iter().chain(branches.map(Some)).map(|branch| ticket(task, branch)).collect()
}

fn agent(visit: &EndedVisit) -> Option<AgentId> {
    visit.agent.as_deref()?.parse().ok()
}
