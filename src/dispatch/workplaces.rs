//! Openings: those that wait for an agent, their holders and eligible agents, and the workload of roles and agents. Reads
//! only.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::{
    AgentId, Blocker, BranchStatus, Identity, OpenBranch, Period, RoleId, Station, Status, Task,
    Ticket, Timestamp,
};
use crate::project::active_rules::InForce;
use crate::project::workspace::Workspace;
use crate::rules::{AgentLoads, LastAssignment, Rules, UnclaimedWork, Workplace};
use crate::tasks::headers::dependencies::Dependencies;
use crate::tasks::headers::listing::{ListScope, Unreadable, read_all};
use crate::tasks::headers::summary::{EndedVisit, TaskSummary, WAITING, gate_of, time};
use crate::tasks::view::task_view::eligible_agents_at;

/// Returns the parts of the task that wait for an agent: the whole, or branches of it. Does not check whether the task is ready.
pub(crate) fn waiting(
    in_force: &InForce,
    task: &TaskSummary,
    now: Timestamp,
) -> Vec<UnclaimedWork> {
    let mut parts = parts(in_force, task, now);
    parts.retain(|place| !place.is_looked_at);
    parts
}

/// Returns the parts of the task that programs look at while nobody has them.
pub(crate) fn looked_at(
    in_force: &InForce,
    task: &TaskSummary,
    now: Timestamp,
) -> Vec<UnclaimedWork> {
    let mut parts = parts(in_force, task, now);
    parts.retain(|place| place.is_looked_at);
    parts
}

fn parts(in_force: &InForce, task: &TaskSummary, now: Timestamp) -> Vec<UnclaimedWork> {
    let is_whole = task.routing.agent.is_none() && task.open_branches.is_empty();
    let whole = is_whole.then_some(None).into_iter();
    whole
        .chain(task.ready_branches().map(Some))
        .filter_map(|branch| waiting_at(in_force, task, branch, now))
        .collect()
}

/// Returns the task or its branch as unclaimed work; `None` if it has no workplace under the rules.
fn waiting_at(
    in_force: &InForce,
    task: &TaskSummary,
    branch: Option<&OpenBranch>,
    now: Timestamp,
) -> Option<UnclaimedWork> {
    let rules = &in_force.rules;
    let gate = gate_of(rules, task)?;
    let workplace = match branch {
        None => Workplace::at(gate)?,
        Some(branch) => {
            let configured =
                gate.fork()?.branches.iter().find(|configured| *configured.id() == branch.id)?;
            Workplace::at_branch(gate, configured)
        }
    };
    let role = branch.map_or(task.role.as_ref(), |branch| Some(&branch.role))?;
    let workplace = Workplace { role, ..workplace };
    let station = workplace.station().to_string();
    let worked = || task.visits.iter().rev().filter(|visit| visit.completed);
    let this_round = task.visits.iter().rev().take_while(|visit| visit.round.is_none());
    let is_separate_gate = |visit: &&EndedVisit| {
        let gate = visit.gate.split('/').next().unwrap_or_default();
        (workplace.duty.separate_by == Identity::Agent || visit.session.is_none())
            && workplace.duty.separate_from.iter().any(|from| from.as_str() == gate)
    };
    Some(UnclaimedWork {
        ticket: ticket(task, branch),
        people_only: workplace.requires_human(rules),
        urgency: task.urgency(now),
        planned_for: task.planned_for(rules).cloned().collect(),
        previous_agent: worked().find(|visit| visit.gate.as_str() == station).and_then(agent),
        excluded: this_round
            .filter(|visit| visit.completed)
            .filter(is_separate_gate)
            .filter_map(agent)
            .collect(),
        lapsed_agent: branch.map_or(&task.routing.lost, |branch| &branch.lost).clone(),
        is_looked_at: workplace.looks_every().is_some(),
        role: role.clone(),
    })
}

/// Returns the workload of agents and each role's last assignment. An ended visit counts as assigned at its beginning, since
/// the time of its claim is not kept.
pub(crate) fn agent_loads<'t>(
    tasks: impl IntoIterator<Item = &'t TaskSummary>,
    now: Timestamp,
) -> AgentLoads {
    let mut loads = AgentLoads::default();
    for task in tasks {
        let assignment = |at, branch: Option<&OpenBranch>, agent| LastAssignment {
            at,
            urgency: task.urgency(now),
            ticket: ticket(task, branch),
            agent,
        };
        let whole = (&task.routing.agent, task.role.as_ref(), task.routing.claimed, None);
        let branches = task
            .open_branches
            .iter()
            .map(|open| (&open.agent, Some(&open.role), open.claimed, Some(open)));
        for (holder, role, claimed, branch) in std::iter::once(whole).chain(branches) {
            let Some(holder) = holder else { continue };
            loads.add_claim(holder.clone());
            if let Some(role) = role {
                let given = assignment(claimed.unwrap_or(task.updated), branch, holder.clone());
                loads.record_assignment(role.clone(), given);
            }
        }
        for visit in task.visits.iter() {
            let role = visit.role.as_deref().and_then(|role| role.parse().ok());
            if let (Some(role), Some(agent)) = (role, agent(visit)) {
                loads.record_assignment(role, assignment(time(visit.entered), None, agent));
            }
        }
    }
    loads
}

/// Returns the ticket of the task, or of a branch of its open visit.
pub(crate) fn ticket(task: &TaskSummary, branch: Option<&OpenBranch>) -> Ticket {
    Ticket {
        task: task.id.clone(),
        visit: branch.map(|_| task.visit()),
        branch: branch.map(|branch| branch.id.clone()),
    }
}

/// Returns the parts of the task that the agent holds; with a role, only its work in that role.
pub(crate) fn held_by(task: &TaskSummary, agent: &AgentId, role: Option<&RoleId>) -> Vec<Ticket> {
    let mine = |holder: Option<&AgentId>, of: Option<&RoleId>| {
        holder == Some(agent) && role.is_none_or(|role| of == Some(role))
    };
    let whole = mine(task.routing.agent.as_ref(), task.role.as_ref()).then_some(None);
    let branches =
        task.open_branches.iter().filter(|open| mine(open.agent.as_ref(), Some(&open.role)));
    whole.into_iter().chain(branches.map(Some)).map(|branch| ticket(task, branch)).collect()
}

fn agent(visit: &EndedVisit) -> Option<AgentId> {
    visit.agent.as_deref()?.parse().ok()
}

/// An open visit, or an open branch of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// The visit, or the branch of it.
    pub ticket: Ticket,
    /// The gate, or the branch of it.
    pub station: Station,
    pub role: RoleId,
    pub holder: Option<AgentId>,
    /// The agents that may complete it now: only the holder, if there is one.
    pub agents: Vec<AgentId>,
    /// True if it is for people only.
    pub people_only: bool,
    /// Its blockers, if it is blocked.
    pub blockers: Option<Vec<Blocker>>,
    /// The time from one look to the next, if a program looks at it while nobody has it.
    pub looks_every: Option<Period>,
}

/// Returns the openings of the task, in the order of the workflow.
pub(crate) fn openings(rules: &Rules, task: &Task) -> Vec<Opening> {
    let opening = |workplace: &Workplace<'_>| {
        let branch = workplace.branch().and_then(|id| task.gate.as_ref()?.branch(id));
        let blockers = match branch {
            Some(branch) if branch.status == BranchStatus::Blocked => Some(branch.blockers.clone()),
            _ if task.status == Status::Blocked => Some(task.blockers.clone()),
            _ => None,
        };
        Opening {
            ticket: task.ticket_of(workplace.branch()),
            station: workplace.station(),
            role: workplace.role.clone(),
            holder: workplace.holder.cloned(),
            agents: eligible_agents_at(rules, task, workplace),
            people_only: workplace.requires_human(rules),
            blockers,
            looks_every: workplace.looks_every().filter(|_| workplace.holder.is_none()),
        }
    };
    Workplace::open(rules, task).iter().map(opening).collect()
}

/// Open work by role and by agent, named by tickets: `AOF-7qk`, or `AOF-7qk@3/security` for a branch.
#[derive(Debug, Default)]
pub(crate) struct Workload {
    /// The work of each role; a role without work has no entry.
    pub roles: BTreeMap<String, RoleWork>,
    pub agents: BTreeMap<String, Vec<String>>,
    /// Task files that could not be read.
    pub unreadable: Vec<Unreadable>,
}

/// The work of one role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoleWork {
    pub ready: Vec<String>,
    /// The work on tasks that wait for others.
    pub waiting: Vec<String>,
    pub in_progress: Vec<String>,
    pub blocked: Vec<String>,
}

/// Returns the open work.
pub(crate) fn workload(workspace: &Workspace, in_force: &InForce) -> Workload {
    let mut listing = read_all(workspace, in_force, ListScope::Active);
    Dependencies::note(workspace, in_force, &mut listing);
    listing.tasks.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
    let mut load = Workload { unreadable: listing.unreadable, ..Workload::default() };
    for (task, _) in listing.tasks.iter().filter(|(task, _)| task.gate.is_some()) {
        if task.open_branches.is_empty() {
            let (agent, state) = (task.routing.agent.as_ref(), task.shown_state());
            load.add(task.id.to_string(), task.role.as_ref(), agent, state);
        }
        for branch in &task.open_branches {
            let (name, agent) = (ticket(task, Some(branch)).to_string(), branch.agent.as_ref());
            load.add(name, Some(&branch.role), agent, branch.status.as_str());
        }
    }
    load
}

impl Workload {
    fn add(&mut self, name: String, role: Option<&RoleId>, agent: Option<&AgentId>, state: &str) {
        if let Some(agent) = agent {
            self.agents.entry(agent.to_string()).or_default().push(name.clone());
        }
        let Some(role) = role else { return };
        let work = self.roles.entry(role.to_string()).or_default();
        let list = match state.parse() {
            Ok(Status::InProgress) => &mut work.in_progress,
            Ok(Status::Blocked) => &mut work.blocked,
            _ if state == WAITING => &mut work.waiting,
            _ => &mut work.ready,
        };
        list.push(name);
    }

    /// Returns the work of a role.
    pub(crate) fn of_role(&self, role: &RoleId) -> RoleWork {
        self.roles.get(role.as_str()).cloned().unwrap_or_default()
    }

    /// Returns the tickets that an agent has claimed.
    pub(crate) fn of_agent(&self, agent: &AgentId) -> &[String] {
        self.agents.get(agent.as_str()).map(Vec::as_slice).unwrap_or_default()
    }
}
