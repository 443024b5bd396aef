//! Assigns waiting work to agents: (rules, waiting work, current load) -> assignments.
//!
//! It makes no claim. Each claim is an act of its own, which may be refused. The history does not record the reason for an
//! assignment, so the algorithm may change.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::workflow::rules::Rules;
use aof_domain::{AgentId, HandOut, RoleId, Ticket, Timestamp, Urgency};

/// A task, or a branch of one, that waits for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnclaimedWork {
    pub ticket: Ticket,
    pub role: RoleId,
    /// True if the work is for people only.
    pub people_only: bool,
    pub urgency: Urgency,
    /// The agents that it is planned for.
    pub planned_for: Vec<AgentId>,
    /// The agent of the previous visit of this gate or branch.
    pub previous_agent: Option<AgentId>,
    /// Agents of the gates that this one must be separate from.
    pub excluded: Vec<AgentId>,
    /// The agent whose claim expired in this visit.
    pub lapsed_agent: Option<AgentId>,
    /// True if a program looks at it again and again, and nobody has it meanwhile.
    pub is_looked_at: bool,
}

impl UnclaimedWork {
    /// Returns its place in the order in which work is handed out.
    pub fn rank(&self) -> impl Ord + '_ {
        (self.urgency, &self.ticket.task, &self.ticket.branch)
    }

    /// Returns whether the rules allow the agent to claim it.
    pub fn suits(&self, rules: &Rules, agent: &AgentId) -> bool {
        let member = rules.org.role(&self.role).is_some_and(|role| role.agents.contains(agent));
        (member || rules.is_open(&self.role)) && self.is_open_to(agent)
    }

    fn is_open_to(&self, agent: &AgentId) -> bool {
        (agent.is_human() || !self.people_only) && !self.excluded.contains(agent)
    }
}

/// The workload of agents, and each role's last assignment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentLoads {
    load: HashMap<AgentId, u32>,
    last: BTreeMap<RoleId, LastAssignment>,
}

/// An assignment to an agent. Of several at one time, the less urgent counts as later.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LastAssignment {
    pub at: Timestamp,
    pub urgency: Urgency,
    pub ticket: Ticket,
    pub agent: AgentId,
}

impl AgentLoads {
    /// Counts one more piece of work for the agent.
    pub fn add_claim(&mut self, agent: AgentId) {
        *self.load.entry(agent).or_default() += 1;
    }

    /// Records an assignment of the role; the latest one counts.
    pub fn record_assignment(&mut self, role: RoleId, assignment: LastAssignment) {
        match self.last.get_mut(&role) {
            Some(last) if *last >= assignment => {}
            Some(last) => *last = assignment,
            None => drop(self.last.insert(role, assignment)),
        }
    }

    /// Returns the agent's workload.
    pub fn load(&self, agent: &AgentId) -> u32 {
        self.load.get(agent).copied().unwrap_or_default()
    }
}

/// Returns the assignments to make: first of work to the agents that it is planned for, then of the rest to any, each the most urgent
/// first. No agent exceeds its limit, nothing is assigned twice, and no work waits while an agent that could do it gets less urgent
/// work that was not planned for it.
pub fn dispatch<'w>(
    rules: &Rules,
    waiting: &'w [UnclaimedWork],
    loads: &AgentLoads,
) -> Vec<(&'w UnclaimedWork, AgentId)> {
    let mut members_of_roles: HashMap<&RoleId, Option<RoleMembers<'_>>> = HashMap::new();
    let mut load: HashMap<&AgentId, u32> = HashMap::new();
    let mut given = Vec::new();
    let mut places: Vec<&UnclaimedWork> = waiting.iter().collect();
    places.sort_by(|a, b| a.rank().cmp(&b.rank()));
    let mut assigned = HashSet::with_capacity(places.len());
    let planned = places.iter().filter(|place| !place.planned_for.is_empty());
    for (place, is_planned) in
        planned.map(|place| (*place, true)).chain(places.iter().map(|place| (*place, false)))
    {
        if assigned.contains(&place.ticket) {
            continue;
        }
        let Some(role_members) = members_of_roles
            .entry(&place.role)
            .or_insert_with(|| RoleMembers::of(rules, loads, &place.role))
        else {
            continue;
        };
        let load_of =
            |agent: &AgentId| load.get(agent).copied().unwrap_or_else(|| loads.load(agent));
        let is_eligible = |agent: &AgentId| {
            let is_lapsed = place.lapsed_agent.as_ref() == Some(agent);
            let is_meant = !is_planned || place.planned_for.contains(agent);
            is_meant
                && load_of(agent) < rules.org.room(agent)
                && !is_lapsed
                && place.is_open_to(agent)
        };
        let Some(index) = role_members.choose(place, &is_eligible, &load_of) else { continue };
        let agent = &role_members.members[index];
        role_members.next = index + 1;
        let count = load_of(agent) + 1;
        load.insert(agent, count);
        assigned.insert(&place.ticket);
        given.push((place, agent.clone()));
    }
    given
}

/// The agents of a role whose work is handed out.
struct RoleMembers<'r> {
    members: &'r [AgentId],
    policy: HandOut,
    /// The index of the next agent for round-robin.
    next: usize,
}

impl<'r> RoleMembers<'r> {
    /// Returns the agents of the role; `None` if they ask for work themselves.
    fn of(rules: &'r Rules, loads: &AgentLoads, id: &RoleId) -> Option<Self> {
        let role = rules.org.role(id)?;
        let policy = rules.project.hand_out_policy(role);
        if policy == HandOut::Ask {
            return None;
        }
        let last = loads
            .last
            .get(id)
            .and_then(|last| role.agents.iter().position(|agent| *agent == last.agent));
        Some(Self { members: &role.agents, policy, next: last.map_or(0, |index| index + 1) })
    }

    /// Returns the index of the agent that gets the work: the agent of the previous visit, otherwise by round-robin or least load.
    fn choose(
        &self,
        place: &UnclaimedWork,
        is_eligible: &dyn Fn(&AgentId) -> bool,
        load_of: &dyn Fn(&AgentId) -> u32,
    ) -> Option<usize> {
        let members = || self.members.iter().enumerate().filter(|(_, agent)| is_eligible(agent));
        let previous = members().find(|(_, agent)| place.previous_agent.as_ref() == Some(*agent));
        let found = previous.or_else(|| match self.policy {
            HandOut::Ask => None,
            HandOut::LeastLoaded => members().min_by_key(|(_, agent)| load_of(agent)),
            HandOut::RoundRobin => members().min_by_key(|(index, _)| (*index < self.next, *index)),
        });
        found.map(|(index, _)| index)
    }
}
