//! Who there is: roles, the agents in them, and what is known of each agent.

use std::collections::BTreeMap;

use super::words::words;
use super::{AgentId, Launch, PublicKey, RoleId, Subscription};

/// The org chart (spec 1, 6.3).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Org {
    /// Roles, in the order of the file.
    pub roles: Vec<(RoleId, Role)>,
    /// The register of agents; absent means that every agent named by a role is known.
    pub agents: Option<BTreeMap<AgentId, Agent>>,
}

/// What agents do the work of a gate.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Role {
    pub description: Option<String>,
    /// Its agents; empty means that tasks stall.
    pub agents: Vec<AgentId>,
    /// Whether only people may complete its gates.
    pub require_human: bool,
    /// How its tasks come to its agents, where that is not the project's way.
    pub hand_out: Option<HandOut>,
    /// How it is told of what concerns it.
    pub notify: Vec<Subscription>,
}

/// What the register says of an agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Agent {
    pub name: Option<String>,
    pub description: Option<String>,
    /// The author's address in commits, and how git's user is recognised as this agent.
    pub email: Option<String>,
    /// What it may do besides completing its own tasks.
    pub may: Vec<Permission>,
    /// How many tasks it may have at once. Absent: one at a time is handed out to it, none if it is a person's, and what it
    /// asks for itself has no limit.
    pub max_tasks: Option<u32>,
    /// How it is told of what concerns it.
    pub notify: Vec<Subscription>,
    /// How it is started, where aof may start it.
    pub run: Option<Launch>,
    /// The keys that it signs completions with: any of them. Empty means that it need not sign.
    pub signing_keys: Vec<PublicKey>,
}

words!(
    /// How tasks come to the agents of a role.
    HandOut, "a way to hand out", {
        /// Agents ask for them.
        Ask = "ask",
        /// To the agent that has the fewest.
        LeastLoaded = "least-loaded",
        /// To one after the other.
        RoundRobin = "round-robin",
    }
);

words!(
    /// What an agent may do that is otherwise for people (DESIGN section 8).
    Permission, "a permission", {
        /// Create tasks.
        New = "new",
        /// Edit what people write in tasks.
        Edit = "edit",
        /// Call tasks off.
        Cancel = "cancel",
        /// Set blocked tasks going again.
        Unblock = "unblock",
        /// Take finished tasks up again.
        Reopen = "reopen",
        /// Move tasks against the workflow.
        Override = "override",
        /// Hold tasks that others work at.
        Hold = "hold",
        /// Give tasks to agents.
        Assign = "assign",
    }
);

impl Org {
    /// Returns the role of that name.
    pub fn role(&self, id: &RoleId) -> Option<&Role> {
        self.roles.iter().find(|(name, _)| name == id).map(|(_, role)| role)
    }

    /// Returns the roles that the agent is in, in the order of the file.
    pub fn roles_of<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a RoleId> {
        self.roles.iter().filter(move |(_, role)| role.agents.contains(agent)).map(|(id, _)| id)
    }

    /// Returns what the register says of the agent.
    pub fn agent(&self, id: &AgentId) -> Option<&Agent> {
        self.agents.as_ref()?.get(id)
    }

    /// Returns the keys that the agent signs completions with; none if it need not sign.
    pub fn signing_keys(&self, id: &AgentId) -> &[PublicKey] {
        self.agent(id).map(|agent| agent.signing_keys.as_slice()).unwrap_or_default()
    }

    /// Returns whether the agent may be handed work: it is in the register, or there is none.
    pub fn is_registered(&self, id: &AgentId) -> bool {
        self.agents.as_ref().is_none_or(|agents| agents.contains_key(id))
    }

    /// Returns how many tasks may be handed to the agent, those that it has included; none if it is not known, or a person who
    /// did not ask for it.
    pub fn room(&self, id: &AgentId) -> u32 {
        let usual = u32::from(!id.is_human());
        if self.is_registered(id) {
            self.agent(id).and_then(|agent| agent.max_tasks).unwrap_or(usual)
        } else {
            0
        }
    }

    /// Returns every agent that any role or the register names, each once, in order.
    pub fn all_agents(&self) -> Vec<&AgentId> {
        let mut all: Vec<&AgentId> = self.roles.iter().flat_map(|(_, role)| &role.agents).collect();
        all.extend(self.agents.iter().flat_map(BTreeMap::keys));
        all.sort();
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_handed_how_much() {
        let with = |max_tasks| Agent { max_tasks, ..Agent::default() };
        let register =
            [("agent-1", with(None)), ("agent-2", with(Some(3))), ("human-ada", with(None))];
        let more = [("human-bob", with(Some(2))), ("agent-off", with(Some(0)))];
        let agents =
            register.into_iter().chain(more).map(|(id, agent)| (id.parse().unwrap(), agent));
        let mut org = Org { roles: Vec::new(), agents: Some(agents.collect()) };
        let room = |org: &Org, id: &str| org.room(&id.parse().unwrap());
        let ids = ["agent-1", "agent-2", "human-ada", "human-bob", "agent-off", "stranger"];
        assert_eq!(ids.map(|id| room(&org, id)), [1, 3, 0, 2, 0, 0]);
        org.agents = None;
        assert_eq!(
            ["stranger", "human-ada"].map(|id| room(&org, id)),
            [1, 0],
            "without a register all are known"
        );
    }
}
