//! Assigns waiting work to agents: (rules, waiting work, current load) -> assignments.
//!
//! It decides no claim. Each claim is an act of its own, which may be refused by then; and what is handed out is no part of what
//! a history says, so it may be decided otherwise another time.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::workflow::rules::Rules;
use crate::domain::{AgentId, HandOut, Priority, RoleId, Ticket, Timestamp};

/// A place of work that waits for somebody: a task, or a branch of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub ticket: Ticket,
    pub role: RoleId,
    /// Whether it is for people only.
    pub people_only: bool,
    /// How urgent the task is.
    pub priority: Priority,
    /// When the task was made.
    pub created: Timestamp,
    /// Who worked at this place for this task the last time.
    pub before: Option<AgentId>,
    /// Who worked at what this is to be kept apart from.
    pub apart: Vec<AgentId>,
    /// Who had it in this visit and let the claim run out.
    pub lost: Option<AgentId>,
}

impl Waiting {
    /// Returns what work is ordered by: the most urgent first, then the oldest.
    pub fn urgency(&self) -> impl Ord + '_ {
        (self.priority, self.created, &self.ticket.task, &self.ticket.branch)
    }

    /// Returns whether the rules let the agent have it.
    pub fn suits(&self, rules: &Rules, agent: &AgentId) -> bool {
        let member = rules.org.role(&self.role).is_some_and(|role| role.agents.contains(agent));
        (member || rules.is_open(&self.role)) && self.is_open_to(agent)
    }

    fn is_open_to(&self, agent: &AgentId) -> bool {
        (agent.is_human() || !self.people_only) && !self.apart.contains(agent)
    }
}

/// What agents have, and what each role gave last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentLoads {
    load: HashMap<AgentId, u32>,
    last: BTreeMap<RoleId, LastAssignment>,
}

/// When something was given to an agent; of several at one time, the less urgent was given later.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LastAssignment {
    pub at: Timestamp,
    pub priority: Priority,
    /// When its task was made.
    pub created: Timestamp,
    pub ticket: Ticket,
    pub agent: AgentId,
}

impl AgentLoads {
    /// Notes that the agent has something.
    pub fn hold(&mut self, agent: AgentId) {
        *self.load.entry(agent).or_default() += 1;
    }

    /// Notes that something of the role was given to an agent.
    pub fn give(&mut self, role: RoleId, gift: LastAssignment) {
        match self.last.get_mut(&role) {
            Some(last) if *last >= gift => {}
            Some(last) => *last = gift,
            None => drop(self.last.insert(role, gift)),
        }
    }

    /// Returns how much the agent has.
    pub fn load(&self, agent: &AgentId) -> u32 {
        self.load.get(agent).copied().unwrap_or_default()
    }
}

/// Returns what is to be given to whom, the most urgent first. Nobody gets more than there is room for, nothing is given twice,
/// and nothing waits while something less urgent goes to an agent that could have had it.
pub fn dispatch<'w>(
    rules: &Rules,
    waiting: &'w [Waiting],
    hands: &AgentLoads,
) -> Vec<(&'w Waiting, AgentId)> {
    let mut crews: HashMap<&RoleId, Option<Crew<'_>>> = HashMap::new();
    let mut load: HashMap<&AgentId, u32> = HashMap::new();
    let mut given = Vec::new();
    let mut places: Vec<&Waiting> = waiting.iter().collect();
    places.sort_by(|a, b| a.urgency().cmp(&b.urgency()));
    let mut seen = HashSet::with_capacity(places.len());
    for place in places.into_iter().filter(|place| seen.insert(&place.ticket)) {
        let Some(crew) =
            crews.entry(&place.role).or_insert_with(|| Crew::of(rules, hands, &place.role))
        else {
            continue;
        };
        let has = |agent: &AgentId| load.get(agent).copied().unwrap_or_else(|| hands.load(agent));
        let fits = |agent: &AgentId| {
            let lost = place.lost.as_ref() == Some(agent);
            has(agent) < rules.org.room(agent) && !lost && place.is_open_to(agent)
        };
        let Some(index) = crew.choose(place, &fits, &has) else { continue };
        let agent = &crew.members[index];
        crew.next = index + 1;
        let count = has(agent) + 1;
        load.insert(agent, count);
        given.push((place, agent.clone()));
    }
    given
}

/// The agents of a role that hands its work out.
struct Crew<'r> {
    members: &'r [AgentId],
    way: HandOut,
    /// Whose turn it is, where they take turns.
    next: usize,
}

impl<'r> Crew<'r> {
    /// Returns the agents of the role; nothing where they ask for work themselves.
    fn of(rules: &'r Rules, hands: &AgentLoads, id: &RoleId) -> Option<Self> {
        let role = rules.org.role(id)?;
        let way = rules.project.way_of(role);
        if way == HandOut::Ask {
            return None;
        }
        let last = hands
            .last
            .get(id)
            .and_then(|last| role.agents.iter().position(|agent| *agent == last.agent));
        Some(Self { members: &role.agents, way, next: last.map_or(0, |index| index + 1) })
    }

    /// Returns who gets the place: whoever worked there before, else whose turn it is, or who has the least.
    fn choose(
        &self,
        place: &Waiting,
        fits: &dyn Fn(&AgentId) -> bool,
        has: &dyn Fn(&AgentId) -> u32,
    ) -> Option<usize> {
        let members = || self.members.iter().enumerate().filter(|(_, agent)| fits(agent));
        let before = members().find(|(_, agent)| place.before.as_ref() == Some(*agent));
        let found = before.or_else(|| match self.way {
            HandOut::Ask => None,
            HandOut::LeastLoaded => members().min_by_key(|(_, agent)| has(agent)),
            HandOut::RoundRobin => members().min_by_key(|(index, _)| (*index < self.next, *index)),
        });
        found.map(|(index, _)| index)
    }
}
