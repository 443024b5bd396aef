//! What each role and each agent has to do now. Read from headers; decides nothing.

use std::collections::BTreeMap;

use serde::Serialize;

use super::workplaces::ticket;
use crate::domain::{AgentId, RoleId, Status};
use crate::project::active_rules::InForce;
use crate::project::workspace::Workspace;
use crate::tasks::headers::listing::{ListScope, Unreadable, read_all};

/// What there is to do, by role and by agent. Work is named as tickets are: `AOF-7qk`, or `AOF-7qk@3/security` for a branch.
#[derive(Debug, Default)]
pub(crate) struct Workload {
    /// What each role has; a role without work has no entry.
    pub roles: BTreeMap<String, RoleWork>,
    /// What each agent has claimed.
    pub agents: BTreeMap<String, Vec<String>>,
    /// Files that could not be counted.
    pub unreadable: Vec<Unreadable>,
}

/// The work of one role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoleWork {
    /// What waits for somebody.
    pub waiting: Vec<String>,
    /// What somebody has.
    pub in_progress: Vec<String>,
    /// What cannot go on.
    pub blocked: Vec<String>,
}

/// Returns what there is to do.
pub(crate) fn workload(workspace: &Workspace, in_force: &InForce) -> Workload {
    let mut listing = read_all(workspace, in_force, ListScope::Active);
    listing.tasks.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
    let mut load = Workload { unreadable: listing.unreadable, ..Workload::default() };
    for (task, _) in listing.tasks.iter().filter(|(task, _)| task.gate.is_some()) {
        if task.open_branches.is_empty() {
            let (agent, status) = (task.routing.agent.as_ref(), task.status.as_str());
            load.add(task.id.to_string(), task.role.as_ref(), agent, status);
        }
        for branch in &task.open_branches {
            let (name, agent) = (ticket(task, Some(branch)).to_string(), branch.agent.as_ref());
            load.add(name, Some(&branch.role), agent, branch.status.as_str());
        }
    }
    load
}

impl Workload {
    fn add(&mut self, name: String, role: Option<&RoleId>, agent: Option<&AgentId>, status: &str) {
        if let Some(agent) = agent {
            self.agents.entry(agent.to_string()).or_default().push(name.clone());
        }
        let Some(role) = role else { return };
        let work = self.roles.entry(role.to_string()).or_default();
        let list = match status.parse() {
            Ok(Status::InProgress) => &mut work.in_progress,
            Ok(Status::Blocked) => &mut work.blocked,
            _ => &mut work.waiting,
        };
        list.push(name);
    }

    /// Returns the work of a role.
    pub(crate) fn of_role(&self, role: &RoleId) -> RoleWork {
        self.roles.get(role.as_str()).cloned().unwrap_or_default()
    }

    /// Returns what an agent has claimed.
    pub(crate) fn of_agent(&self, agent: &AgentId) -> &[String] {
        self.agents.get(agent.as_str()).map(Vec::as_slice).unwrap_or_default()
    }
}
