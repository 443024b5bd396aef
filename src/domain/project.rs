//! A project: its settings, and the workflows that its tasks follow.

use super::words::words;
use super::{
    BranchName, HandOut, IdPrefix, Period, RemoteName, Role, Subscription, Workflow, WorkflowName,
};

/// What project.yaml and `workflows/` say.
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// What the project is called.
    pub name: Option<String>,
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

/// How often a synced project is synced when nothing else is said.
const EVERY: Period = Period::of_seconds(60);

/// What is said of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Git {
    /// Whether claims are confirmed by the remote, and the watcher syncs.
    pub sync: bool,
    /// The remote that the project is synced with; where nothing is said, the one that the branch follows.
    pub remote: Option<RemoteName>,
    /// The branch that the project lives on, if not on the one that is checked out.
    pub branch: Option<BranchName>,
    /// How often the watcher looks at the remote.
    pub every: Period,
}

impl Default for Git {
    fn default() -> Self {
        Self { sync: false, remote: None, branch: None, every: EVERY }
    }
}
