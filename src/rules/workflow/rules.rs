//! The rules that decide: a project's workflows and org chart, checked, with their conditions compiled.

use std::collections::BTreeMap;

use crate::domain::{
    AgentId, Channel, Org, Project, RoleId, Station, Task, Workflow, WorkflowName,
};
use crate::rules::condition::Condition;

/// The compiled conditions of all gates and branches.
pub(crate) type Conditions = BTreeMap<(WorkflowName, Station), Condition>;

/// What a condition may speak of (spec 1, 3.2).
pub(crate) const CONDITION_NAMES: &[&str] = &["tags", "metadata", "gateHistory"];

/// What the condition of a gate that decides by itself may speak of besides (DESIGN section 5).
pub(crate) const DECIDING_NAMES: &[&str] = &["tags", "metadata", "gateHistory", "context"];

/// Rules that validation has found sound.
#[derive(Debug, Clone)]
pub struct Rules {
    pub project: Project,
    pub org: Org,
    pub(crate) conditions: Conditions,
    pub(crate) hashes: BTreeMap<WorkflowName, String>,
}

impl Rules {
    /// Returns the workflow that the task follows: the one it names, else the project's default.
    pub fn workflow_of(&self, task: &Task) -> Option<&Workflow> {
        self.project.workflow(&task.routing.workflow)
    }

    /// Returns the hash that stands for a workflow in a task's history: 16 hexadecimal digits.
    pub fn hash(&self, workflow: &WorkflowName) -> Option<&str> {
        self.hashes.get(workflow).map(String::as_str)
    }

    /// Returns whether the workflow may be listed and started by that agent; whoever has no agent id is git's user alone, and
    /// may.
    pub fn is_visible(&self, workflow: &Workflow, agent: Option<&AgentId>) -> bool {
        let Some(agent) = agent else { return true };
        let named = |name: &str| workflow.visible_to.iter().any(|viewer| viewer == name);
        workflow.visible_to.is_empty()
            || named(agent.as_str())
            || self.org.roles_of(agent).any(|role| named(role.as_str()))
    }

    /// Returns every way by which anybody may be told something.
    pub fn channels(&self) -> impl Iterator<Item = &Channel> {
        let agents = self.org.agents.iter().flatten().flat_map(|(_, agent)| &agent.notify);
        let roles = self.org.roles.iter().flat_map(|(_, role)| &role.notify);
        self.project.notify.iter().chain(roles).chain(agents).map(|own| &own.channel)
    }

    /// Returns the role of the task itself, which counts where the workflow is only the stand-in: that one names none.
    pub(crate) fn own_role<'t>(&self, task: &'t Task) -> Option<&'t RoleId> {
        task.routing.role.as_ref().filter(|_| self.project.implicit_workflow)
    }

    /// Returns whether any agent may do the work of the role: it is the stand-in workflow's, and org.yaml does not define it.
    pub fn is_open(&self, role: &RoleId) -> bool {
        self.project.implicit_workflow && self.org.role(role).is_none()
    }

    pub(crate) fn condition(&self, workflow: &Workflow, station: Station) -> Option<&Condition> {
        self.conditions.get(&(workflow.name.clone(), station))
    }
}
