//! How the gates are doing: what waits at each, and how long things take there.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::stats::numbers::{Share, Spread};
use super::stats::verdict::verdicts;
use crate::domain::{Gate, GateId, Status, Workflow};
use crate::project::active_rules::InForce;
use crate::project::workspace::Workspace;
use crate::tasks::headers::list::stations;
use crate::tasks::headers::listing::{ListScope, Unreadable, read_all, unreadable_value};
use crate::tasks::headers::summary::TaskSummary;

/// One gate's numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateRow {
    /// Its workflow.
    pub workflow: String,
    /// The gate, or a branch of it.
    pub gate: String,
    /// Its role; a fork and a condition have none.
    pub role: Option<String>,
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
    /// The share of rejections among the completions that settled a visit; nothing where the gate never rejects.
    pub rejection_rate: Option<f64>,
}

/// The numbers of all gates.
#[derive(Debug, Default)]
pub(crate) struct GateReport {
    /// The gates in force, in the order of the workflows.
    pub rows: Vec<GateRow>,
    /// Unfinished tasks at none of them: hand-made ones, and those whose gate is gone.
    pub elsewhere: Vec<String>,
    /// Files that could not be counted.
    pub unreadable: Vec<Unreadable>,
}

/// Returns the numbers of every gate in force; finished tasks count where times and rejections are concerned.
pub(crate) fn gate_status(workspace: &Workspace, in_force: &InForce) -> GateReport {
    let listing = read_all(workspace, in_force, ListScope::All);
    let now = workspace.now().as_second();
    let workflows = &in_force.rules.project.workflows;
    let mut counts: HashMap<(&str, String), StationCount> = HashMap::new();
    for workflow in workflows {
        for (station, _) in stations(workflow) {
            counts.insert((workflow.name.as_str(), station), StationCount::default());
        }
    }
    let mut elsewhere = Vec::new();
    for (header, _) in &listing.tasks {
        let workflow = header.routing.workflow.as_str();
        let mut count_at = |station: &str, count: &dyn Fn(&mut StationCount)| {
            if let Some(own) = counts.get_mut(&(workflow, station.to_owned())) {
                count(own);
            }
        };
        for stay in &header.visits {
            let fork = stay.join.as_ref().map(|join| join.fork.as_str());
            for station in [stay.gate.as_str()].into_iter().chain(fork).filter(|_| stay.completed) {
                count_at(station, &|count| count.lengths.push(stay.seconds));
            }
            for verdict in verdicts(stay) {
                count_at(verdict.station, &|count| count.rejections.count(verdict.rejects));
            }
        }
        let at = header.current_gate().map(GateId::as_str).unwrap_or_default();
        for branch in &header.open_branches {
            if let Some(count) = counts.get_mut(&(workflow, format!("{at}/{}", branch.id))) {
                count.stand(branch.status.as_str(), header, now);
            }
        }
        match counts.get_mut(&(workflow, at.to_owned())) {
            Some(count) => count.stand(header.status.as_str(), header, now),
            None if header.is_finished() => {}
            None => elsewhere.push(header.id.to_string()),
        }
    }
    let mut rows = Vec::new();
    for workflow in workflows {
        for (station, gate) in stations(workflow) {
            let count =
                counts.remove(&(workflow.name.as_str(), station.clone())).unwrap_or_default();
            rows.push(count.row(workflow, station, gate));
        }
    }
    elsewhere.sort();
    GateReport { rows, elsewhere, unreadable: listing.unreadable }
}

/// Returns the numbers as `--json` shows them; times are in seconds.
pub(crate) fn gate_report_value(report: &GateReport) -> Value {
    let unreadable: Vec<Value> = report.unreadable.iter().map(unreadable_value).collect();
    json!({"gates": report.rows, "elsewhere": report.elsewhere, "unreadable": unreadable})
}

/// What is counted at one gate.
#[derive(Debug, Default)]
struct StationCount {
    waiting: usize,
    in_progress: usize,
    blocked: usize,
    oldest: Option<u64>,
    lengths: Vec<u64>,
    rejections: Share,
}

impl StationCount {
    fn stand(&mut self, status: &str, header: &TaskSummary, now: i64) {
        match status.parse() {
            Ok(Status::InProgress) => self.in_progress += 1,
            Ok(Status::Blocked) => self.blocked += 1,
            _ => self.waiting += 1,
        }
        let age = header.entered().map(|since| u64::try_from(now - since).unwrap_or(0));
        self.oldest = self.oldest.max(age);
    }

    fn row(self, workflow: &Workflow, station: String, gate: &Gate) -> GateRow {
        let rejects = gate.can_reject() || self.rejections.part > 0;
        GateRow {
            workflow: workflow.name.to_string(),
            gate: station,
            role: gate.role().map(ToString::to_string),
            waiting: self.waiting,
            in_progress: self.in_progress,
            blocked: self.blocked,
            oldest: self.oldest,
            median: Spread::of(self.lengths).map(|spread| spread.p50),
            rejection_rate: self.rejections.rate().filter(|_| rejects),
        }
    }
}
