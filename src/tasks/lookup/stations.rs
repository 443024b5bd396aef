//! The places of a workflow at which work is counted: its gates, and the branches of its forks.

use crate::domain::{Branch, Gate, Workflow};

/// Returns the gates of a workflow in their order, each fork with its branches behind it.
pub(crate) fn stations(workflow: &Workflow) -> Vec<(String, &Gate)> {
    let mut all = Vec::new();
    for gate in &workflow.gates {
        all.push((gate.id.to_string(), gate));
        let branches = gate.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default();
        let branches = branches.iter().map(Branch::gate);
        all.extend(branches.map(|branch| (format!("{}/{}", gate.id, branch.id), branch)));
    }
    all
}
