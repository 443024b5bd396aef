//! Where in the configuration something stands, and how many are named of those that an issue is about: said in the nouns of the model, for which
//! `files` finds line and column.

use super::{AgentId, Outcome, RoleId, WorkflowName};

/// So many ids are named before it is enough.
pub(crate) const FEW: usize = 5;

/// Names a few of many.
pub(crate) fn some(ids: &[&str]) -> String {
    let mut names = ids[..ids.len().min(FEW)].to_vec();
    if ids.len() > FEW {
        names.push("...");
    }
    names.join(", ")
}

/// A place in project.yaml, `workflows/` or org.yaml. Fields are the keys as people write them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A setting of the project.
    Project {
        /// The key, or keys joined by a dot.
        field: &'static str,
    },
    /// A field of a workflow.
    Workflow { workflow: WorkflowName, field: &'static str },
    /// A field of a gate.
    Gate {
        workflow: WorkflowName,
        /// The gate's place in the list, from 0.
        gate: usize,
        field: &'static str,
    },
    /// A route of a gate.
    Route {
        workflow: WorkflowName,
        /// The gate's place in the list, from 0.
        gate: usize,
        /// The outcome, as it is written; `failed` is the gate's `onFailure`.
        outcome: Outcome,
        field: &'static str,
    },
    /// A field of a branch of a fork.
    Branch {
        workflow: WorkflowName,
        /// The fork's place in the list, from 0.
        gate: usize,
        /// The branch's place in the fork, from 0.
        branch: usize,
        /// The outcome, as it is written, where it is about a route.
        outcome: Option<Outcome>,
        field: &'static str,
    },
    /// A field of a role.
    Role { role: RoleId, field: &'static str },
    /// One agent in a role's list.
    Member {
        role: RoleId,
        /// The agent's place in the list, from 0.
        index: usize,
    },
    /// An agent in the register.
    Agent { agent: AgentId, field: &'static str },
}
