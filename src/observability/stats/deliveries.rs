//! How often tasks are delivered, how long that takes, how often a delivery fails, and how soon the next one mends it: the four
//! numbers of DORA, from gates that a workflow marks `delivery: true`.

use serde::Serialize;

use super::numbers::{Share, Span, Spread, end, gate_of, rounded_number};
use crate::domain::{Ending, Outcome};
use crate::rules::Rules;
use crate::tasks::headers::summary::{EndedVisit, TaskSummary};

/// Deliveries of a time; the durations are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeliveryStats {
    pub count: u64,
    /// On average; nothing if the time is shorter than a week.
    #[serde(serialize_with = "rounded_number")]
    pub per_week: Option<f64>,
    /// From the creation of a task to its first delivery.
    pub lead_time: Option<Spread>,
    /// Of the deliveries, those after which the task was sent back, reopened or failed.
    pub failures: Share,
    /// From such a failure to the next delivery of the task.
    pub time_to_restore: Option<Spread>,
}

/// Counts deliveries.
#[derive(Debug, Default)]
pub(crate) struct DeliveryCounts {
    failures: Share,
    leads: Vec<u64>,
    restored: Vec<u64>,
}

impl DeliveryCounts {
    /// Counts a task.
    pub(crate) fn see(&mut self, rules: &Rules, task: &TaskSummary, span: &Span) {
        let workflow = rules.project.workflow(&task.routing.workflow);
        let delivers = |visit: &EndedVisit| {
            let mut gates = workflow.iter().flat_map(|workflow| &workflow.gates);
            let is_marked = gates.any(|gate| gate.delivery && gate.id.as_str() == gate_of(visit));
            is_marked && visit.completed && visit.to.is_some() && !is_failure(visit)
        };
        let between = |from: i64, to: i64| u64::try_from(to.saturating_sub(from)).unwrap_or(0);
        let mut is_first = true;
        let mut failed_at = None;
        for (place, visit) in task.visits.iter().enumerate() {
            if !delivers(visit) {
                continue;
            }
            let later = &task.visits[place + 1..];
            let next = later.iter().position(delivers).unwrap_or(later.len());
            let failure = later[..next].iter().find(|visit| is_failure(visit)).map(end);
            if span.has(visit) {
                self.failures.count(failure.is_some());
                if is_first {
                    self.leads.push(between(task.created.as_second(), end(visit)));
                }
                self.restored.extend(failed_at.map(|failed| between(failed, end(visit))));
            }
            (is_first, failed_at) = (false, failure);
        }
    }

    /// Returns the numbers; nothing if no workflow in force marks a gate.
    pub(crate) fn close(self, rules: &Rules, weeks: Option<f64>) -> Option<DeliveryStats> {
        let mut gates = rules.project.workflows.iter().flat_map(|workflow| &workflow.gates);
        gates.any(|gate| gate.delivery).then(|| DeliveryStats {
            count: self.failures.whole,
            per_week: weeks.map(|weeks| per_week(self.failures.whole, weeks)),
            lead_time: Spread::of(self.leads),
            failures: self.failures,
            time_to_restore: Spread::of(self.restored),
        })
    }
}

/// Returns how many that is a week.
#[expect(clippy::cast_precision_loss, reason = "counts of tasks are far below 2^52")]
pub(crate) fn per_week(count: u64, weeks: f64) -> f64 {
    count as f64 / weeks
}

fn is_failure(visit: &EndedVisit) -> bool {
    visit.rejected
        || visit.join.as_ref().is_some_and(|join| join.failed)
        || visit.ended == Ending::Reopened.to_string()
        || visit.ended == Outcome::Failed.as_str()
}
