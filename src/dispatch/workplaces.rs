//! The places of work that wait for somebody, and what agents have of them, as headers tell it: what handing out goes by.

use crate::domain::{AgentId, BranchStatus, Identity, Priority, RoleId, Ticket};
use crate::project::active_rules::InForce;
use crate::rules::{Gift, Hands, Waiting, Workplace};
use crate::tasks::headers::ended_visit::EndedVisit;
use crate::tasks::headers::header::{Header, Part, gate_of, time};

/// Returns what of the task can be claimed: the whole, or branches of it. Whether the task may be handed out at all is not asked.
pub(crate) fn waiting(in_force: &InForce, header: &Header) -> Vec<Waiting> {
    let whole = (header.agent.is_none() && header.branches.is_empty()).then_some(None);
    let free = header.branches.iter().filter(|part| part.status == BranchStatus::Ready.as_str());
    whole
        .into_iter()
        .chain(free.map(Some))
        .filter_map(|part| place(in_force, header, part))
        .collect()
}

/// Returns the place; nothing where the rules let nobody work.
fn place(in_force: &InForce, header: &Header, part: Option<&Part>) -> Option<Waiting> {
    let rules = &in_force.rules;
    let gate = gate_of(rules, header)?;
    let post = match part {
        None => Workplace::at(gate)?,
        Some(part) => {
            let branch =
                gate.fork()?.branches.iter().find(|branch| branch.id().as_str() == part.branch)?;
            Workplace::at_branch(gate, branch)
        }
    };
    let role: RoleId =
        part.map_or(header.role.as_deref(), |part| Some(&part.role))?.parse().ok()?;
    let post = Workplace { role: &role, ..post };
    let station = post.station().to_string();
    let worked = || header.stays.iter().rev().filter(|visit| visit.completed);
    let kept_apart = |visit: &&EndedVisit| {
        let gate = visit.gate.split('/').next().unwrap_or_default();
        post.duty.separate_by == Identity::Agent
            && post.duty.separate_from.iter().any(|from| from.as_str() == gate)
    };
    let lost = part.map_or(&header.lost, |part| &part.lost);
    Some(Waiting {
        ticket: ticket(header, part)?,
        people_only: post.requires_human(rules),
        priority: priority(header),
        created: time(header.created),
        before: worked()
            .find(|visit| visit.gate.as_str() == station)
            .and_then(|visit| agent(visit.agent.as_deref())),
        apart: worked()
            .filter(kept_apart)
            .filter_map(|visit| agent(visit.agent.as_deref()))
            .collect(),
        lost: agent(lost.as_deref()),
        role,
    })
}

/// Returns what agents have of these tasks, and what each role gave last. When a visit that has ended was claimed nobody
/// knows any more: it counts from when it began.
pub(crate) fn hands<'h>(headers: impl IntoIterator<Item = &'h Header>) -> Hands {
    let mut hands = Hands::default();
    for header in headers {
        let gift = |at: i64, part: Option<&Part>, agent: AgentId| {
            let created = time(header.created);
            Some(Gift {
                at: time(at),
                priority: priority(header),
                created,
                ticket: ticket(header, part)?,
                agent,
            })
        };
        let whole = (header.agent.as_deref(), header.role.as_deref(), header.claimed, None);
        let parts = header.branches.iter().map(|part| {
            (part.agent.as_deref(), Some(part.role.as_str()), part.claimed, Some(part))
        });
        for (holder, role, claimed, part) in std::iter::once(whole).chain(parts) {
            let Some(holder) = agent(holder) else { continue };
            hands.hold(holder.clone());
            let given = gift(claimed.unwrap_or(header.updated), part, holder);
            role.and_then(|role| role.parse().ok())
                .zip(given)
                .into_iter()
                .for_each(|(role, gift)| hands.give(role, gift));
        }
        for visit in &header.stays {
            let given =
                agent(visit.agent.as_deref()).and_then(|agent| gift(visit.entered, None, agent));
            let role = visit.role.as_deref().and_then(|role| role.parse().ok());
            role.zip(given).into_iter().for_each(|(role, gift)| hands.give(role, gift));
        }
    }
    hands
}

/// Returns what is claimed: of a fork a branch of the visit that is open.
pub(crate) fn ticket(header: &Header, part: Option<&Part>) -> Option<Ticket> {
    let branch = part.map(|part| part.branch.parse()).transpose().ok()?;
    Some(Ticket {
        task: header.id.parse().ok()?,
        visit: branch.as_ref().map(|_| header.visit),
        branch,
    })
}

/// Returns what the agent has of the task.
pub(crate) fn held_by(header: &Header, agent: &AgentId, role: Option<&RoleId>) -> Vec<Ticket> {
    let mine = |holder: Option<&str>, of: Option<&str>| {
        holder == Some(agent.as_str()) && role.is_none_or(|role| of == Some(role.as_str()))
    };
    let whole = mine(header.agent.as_deref(), header.role.as_deref())
        .then(|| ticket(header, None))
        .flatten();
    let parts = header.branches.iter().filter(|part| mine(part.agent.as_deref(), Some(&part.role)));
    whole.into_iter().chain(parts.filter_map(|part| ticket(header, Some(part)))).collect()
}

fn agent(id: Option<&str>) -> Option<AgentId> {
    id?.parse().ok()
}

fn priority(header: &Header) -> Priority {
    header.priority.parse().unwrap_or(Priority::Medium)
}
