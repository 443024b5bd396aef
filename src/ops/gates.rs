//! How the gates are doing: what waits at each, and how long things take there.

use super::error::OpsError;
use super::headers::{Header, Listing, Scope, Unreadable, read_all};
use super::workspace::Workspace;
use crate::model::{Gate, Status, Workflow};

/// One gate's numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct GateRow {
    /// Its workflow.
    pub workflow: String,
    /// The gate.
    pub gate: String,
    /// Its role.
    pub role: String,
    /// Tasks that wait for an agent.
    pub waiting: usize,
    /// Tasks that an agent has.
    pub in_progress: usize,
    /// Tasks that are blocked.
    pub blocked: usize,
    /// The longest that an open visit has lasted, in seconds.
    pub oldest: Option<u64>,
    /// Half of the completed visits were shorter, in seconds.
    pub median: Option<u64>,
    /// The share of completed visits that ended in a rejection.
    pub rejection_rate: Option<f64>,
}

/// Returns the numbers of every gate in force, in the order of the workflows, and the files that could not be counted.
pub fn gate_status(workspace: &Workspace) -> Result<(Vec<GateRow>, Vec<Unreadable>), OpsError> {
    let in_force = workspace.rules()?;
    let listing = read_all(workspace, &in_force, Scope::All)?;
    let now = workspace.now().as_second();
    let mut rows = Vec::new();
    for workflow in &in_force.rules.project.workflows {
        rows.extend(workflow.gates.iter().map(|gate| row(workflow, gate, &listing, now)));
    }
    Ok((rows, listing.unreadable))
}

fn row(workflow: &Workflow, gate: &Gate, listing: &Listing, now: i64) -> GateRow {
    let of_workflow: Vec<&Header> = listing
        .tasks
        .iter()
        .map(|(header, _)| header)
        .filter(|header| header.workflow == workflow.name.as_str())
        .collect();
    let here: Vec<&&Header> =
        of_workflow.iter().filter(|header| header.gate.as_deref() == Some(gate.id.as_str())).collect();
    let count = |status: Status| here.iter().filter(|header| header.status == status.as_str()).count();
    let mut past: Vec<(u64, bool)> = of_workflow
        .iter()
        .flat_map(|header| &header.stays)
        .filter(|stay| stay.completed && stay.gate == gate.id.as_str())
        .map(|stay| (stay.seconds, stay.rejected))
        .collect();
    past.sort_unstable();
    let rejected = past.iter().filter(|(_, rejected)| *rejected).count();
    GateRow {
        workflow: workflow.name.to_string(),
        gate: gate.id.to_string(),
        role: gate.role.to_string(),
        waiting: count(Status::Ready),
        in_progress: count(Status::InProgress),
        blocked: count(Status::Blocked),
        oldest: here.iter().filter_map(|header| header.entered).map(|since| now.abs_diff(since)).max(),
        median: past.get(past.len() / 2).map(|(seconds, _)| *seconds),
        rejection_rate: (!past.is_empty()).then(|| ratio(rejected, past.len())),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of visits are far below 2^52")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
