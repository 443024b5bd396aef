//! A project: its settings, and the workflows that its tasks follow.

use crate::domain::values::word_enum::words;
use crate::domain::{Git, HandOut, IdPrefix, Role, Subscription, Workflow, WorkflowName};

/// What project.yaml and `workflows/` say.
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// What the project is called.
    pub name: Option<String>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// What its task ids begin with.
    pub id_prefix: IdPrefix,
    /// Where new task files go.
    pub layout: Layout,
    /// How tasks come to agents, where a role does not say otherwise.
    pub hand_out: HandOut,
    /// Whether the watcher commits people's edits of task files.
    pub commit_edits: bool,
    /// How it lives with other clones.
    pub git: Git,
    /// Who is told of what.
    pub notify: Vec<Subscription>,
    /// Its workflows; never empty.
    pub workflows: Vec<Workflow>,
    /// The workflow of a task that names none.
    pub default_workflow: WorkflowName,
    /// Whether the one workflow is the stand-in for a project without any (spec 1, 10.2): then every agent may complete.
    pub implicit_workflow: bool,
}

impl Project {
    /// Returns how tasks of the role come to its agents.
    pub fn way_of(&self, role: &Role) -> HandOut {
        role.hand_out.unwrap_or(self.hand_out)
    }

    /// Returns the workflow of that name.
    pub fn workflow(&self, name: &WorkflowName) -> Option<&Workflow> {
        self.workflows.iter().find(|workflow| workflow.name == *name)
    }
}

words!(
    /// Where new task files go.
    Layout, "a layout", {
        /// `tasks/AOF-abcde.md`
        Flat = "flat",
        /// `tasks/ab/AOF-abcde.md`: for many thousand active tasks.
        Sharded = "sharded",
    }
);
