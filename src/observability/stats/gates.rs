//! How long tasks stay at each gate, how often they are sent back from there, and where nothing comes to.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::{Serialize, Serializer};

use super::numbers::{Share, Span, Spread, rounded};
use super::verdict::{gate_of, took_time, verdicts};
use crate::domain::Workflow;
use crate::tasks::headers::list::stations;
use crate::tasks::headers::summary::EndedVisit;
use crate::tasks::headers::summary::TaskSummary;

/// A gate, or a branch of one, and how it does.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateStats {
    pub workflow: String,
    /// The gate, or the branch of it.
    pub gate: String,
    /// Its role; a fork, a condition and a gate that is gone have none.
    pub role: Option<String>,
    /// Whether the rules in force have it.
    pub in_force: bool,
    /// How long the visits were that ended in this time; nothing where none did.
    #[serde(rename = "duration")]
    pub spread: Option<Spread>,
    /// Of the time of all gates, what was spent here, by visits that are open, too; branches spend that of their fork.
    #[serde(rename = "timeShare", serialize_with = "rate")]
    pub time: Share,
    /// Whether it can send tasks back, or once did.
    pub can_reject: bool,
    /// Of the completions that settled a visit, those that sent the task back.
    pub rejections: Share,
    /// Of the tasks that were judged here, those that were not sent back the first time.
    pub first_pass: Share,
    /// How often a task was led past it.
    pub skipped: u64,
    /// How many tasks stand here now.
    pub standing: u64,
    /// For how long the one that came first has stood here, in seconds.
    pub oldest: Option<u64>,
    /// What the spread is of.
    #[serde(skip)]
    lengths: Vec<u64>,
}

fn rate<S: Serializer>(share: &Share, serializer: S) -> Result<S::Ok, S::Error> {
    share.rate().map(rounded).serialize(serializer)
}

impl GateStats {
    /// Returns whether no task was here in this time, though one could have been.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_force && self.spread.is_none() && self.standing == 0
    }

    fn stand(&mut self, age: u64) {
        self.standing += 1;
        self.oldest = self.oldest.max(Some(age));
    }
}

/// The workflow, and the gate or the branch of it.
type Key<'a> = (&'a str, Cow<'a, str>);

/// Counts gates.
#[derive(Debug, Default)]
pub(crate) struct Gates<'a> {
    counts: HashMap<Key<'a>, GateStats>,
}

impl<'a> Gates<'a> {
    /// Counts a task.
    pub(crate) fn see(&mut self, task: &'a TaskSummary, span: &Span) {
        let mut judged = HashSet::new();
        for stay in &task.visits {
            let counts = span.has(stay);
            if took_time(stay) {
                self.spend(task, stay, span, counts);
            }
            for gate in stay.skipped.iter().filter(|_| counts) {
                self.at(task, gate.as_str()).skipped += 1;
            }
            for verdict in verdicts(stay) {
                let is_first = judged.insert(verdict.station);
                if counts {
                    let count = self.at(task, verdict.station);
                    count.rejections.count(verdict.rejects);
                    if is_first {
                        count.first_pass.count(!verdict.rejects);
                    }
                }
            }
        }
        let (Some(gate), Some(entered)) = (task.current_gate(), task.entered()) else { return };
        let age = u64::try_from(span.until.saturating_sub(entered)).unwrap_or(0);
        let branches = task.open_branches.iter().map(|branch| format!("{gate}/{}", branch.id));
        for station in branches {
            self.at(task, station).stand(age);
        }
        let count = self.at(task, gate.as_str());
        count.stand(age);
        count.time.part += span.within(entered, span.until);
    }

    /// Counts the time of a visit. What lies before is none of this time's, but the visit was as long as it was.
    fn spend(&mut self, task: &'a TaskSummary, stay: &'a EndedVisit, span: &Span, counts: bool) {
        if counts {
            self.at(task, stay.gate.as_str()).lengths.push(stay.seconds);
        }
        let whole = match &stay.join {
            // All branches of a fork begin together: the one that closes it was there as long as the fork.
            Some(join) => Some(join.fork.as_str()),
            None if stay.gate == gate_of(stay) => Some(stay.gate.as_str()),
            None => None,
        };
        let Some(gate) = whole else { return };
        let count = self.at(task, gate);
        count.time.part +=
            span.within(stay.entered, stay.entered.saturating_add_unsigned(stay.seconds));
        if counts && stay.join.is_some() {
            count.lengths.push(stay.seconds);
        }
    }

    fn at(&mut self, task: &'a TaskSummary, station: impl Into<Cow<'a, str>>) -> &mut GateStats {
        self.counts.entry((task.routing.workflow.as_str(), station.into())).or_default()
    }

    /// Returns the gates in the order of the workflows, and those that are gone behind them.
    pub(crate) fn close<'w: 'a>(
        mut self,
        workflows: impl Iterator<Item = &'w Workflow>,
    ) -> Vec<GateStats> {
        let whole = self.counts.values().map(|count| count.time.part).sum();
        let finished = |(workflow, gate): Key<'a>, mut row: GateStats| {
            (row.workflow, row.gate) = (workflow.to_owned(), gate.into_owned());
            row.spread = Spread::of(std::mem::take(&mut row.lengths));
            row.time.whole = whole;
            row.can_reject |= row.rejections.part > 0;
            row
        };
        let mut rows = Vec::new();
        for workflow in workflows {
            for (station, gate) in stations(workflow) {
                let key = (workflow.name.as_str(), station.into());
                let mut row = self.counts.remove(&key).unwrap_or_default();
                row.role = gate.role().map(ToString::to_string);
                (row.in_force, row.can_reject) = (true, gate.can_reject());
                rows.push(finished(key, row));
            }
        }
        let mut gone: Vec<(Key<'_>, GateStats)> = self.counts.into_iter().collect();
        gone.sort_by(|a, b| a.0.cmp(&b.0));
        rows.extend(gone.into_iter().map(|(key, row)| finished(key, row)));
        rows
    }
}
