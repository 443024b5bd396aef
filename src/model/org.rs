//! Who there is: roles, the agents in them, and what is known of each agent.

use std::collections::BTreeMap;

use super::words::words;
use super::{AgentId, RoleId};

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
    /// What it is for.
    pub description: Option<String>,
    /// Its agents; empty means that tasks stall.
    pub agents: Vec<AgentId>,
    /// Whether only people may complete its gates.
    pub require_human: bool,
}

/// What the register says of an agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Agent {
    /// What it is called.
    pub name: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// The author's address in commits, and how git's user is recognised as this agent.
    pub email: Option<String>,
    /// What it may do besides completing its own tasks.
    pub may: Vec<Permission>,
}

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

    /// Returns whether the agent may be handed work: it is in the register, or there is none.
    pub fn is_registered(&self, id: &AgentId) -> bool {
        self.agents.as_ref().is_none_or(|agents| agents.contains_key(id))
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
