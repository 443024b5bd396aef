//! How long tasks stay at each gate, how often they are sent back from there, and where nothing comes to.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::{Serialize, Serializer};

use super::numbers::{Share, Span, Spread, rounded};
use super::verdict::{gate_of, took_time, verdicts};
use crate::domain::Workflow;
use crate::tasks::headers::ended_visit::EndedVisit;
use crate::tasks::headers::lookup::stations;
use crate::tasks::headers::summary::TaskSummary;

/// A gate, or a branch of one, and how it does.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
}

fn rate<S: Serializer>(share: &Share, serializer: S) -> Result<S::Ok, S::Error> {
    share.rate().map(rounded).serialize(serializer)
}

impl GateStats {
    /// Returns whether no task was here in this time, though one could have been.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_force && self.spread.is_none() && self.standing == 0
    }
}

/// The workflow, and the gate or the branch of it.
type Key<'a> = (&'a str, Cow<'a, str>);

/// Counts gates.
#[derive(Debug, Default)]
pub(crate) struct Gates<'a> {
    counts: HashMap<Key<'a>, GateCount>,
}

#[derive(Debug, Default)]
struct GateCount {
    lengths: Vec<u64>,
    seconds: u64,
    rejections: Share,
    first_pass: Share,
    skipped: u64,
    standing: u64,
    oldest: Option<u64>,
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
        count.seconds += span.within(entered, span.until);
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
        count.seconds +=
            span.within(stay.entered, stay.entered.saturating_add_unsigned(stay.seconds));
        if counts && stay.join.is_some() {
            count.lengths.push(stay.seconds);
        }
    }

    fn at(&mut self, task: &'a TaskSummary, station: impl Into<Cow<'a, str>>) -> &mut GateCount {
        self.counts.entry((task.routing.workflow.as_str(), station.into())).or_default()
    }

    /// Returns the gates in the order of the workflows, and those that are gone behind them.
    pub(crate) fn close<'w: 'a>(
        mut self,
        workflows: impl Iterator<Item = &'w Workflow>,
    ) -> Vec<GateStats> {
        let whole = self.counts.values().map(|count| count.seconds).sum();
        let mut rows = Vec::new();
        for workflow in workflows {
            for (station, gate) in stations(workflow) {
                let key = (workflow.name.as_str(), station.into());
                let count = self.counts.remove(&key).unwrap_or_default();
                let row = count.row(&key, true, whole);
                let can_reject = row.can_reject || gate.can_reject();
                rows.push(GateStats {
                    role: gate.role().map(ToString::to_string),
                    can_reject,
                    ..row
                });
            }
        }
        let mut gone: Vec<(Key<'_>, GateCount)> = self.counts.into_iter().collect();
        gone.sort_by(|a, b| a.0.cmp(&b.0));
        rows.extend(gone.into_iter().map(|(key, count)| count.row(&key, false, whole)));
        rows
    }
}

impl GateCount {
    fn stand(&mut self, age: u64) {
        self.standing += 1;
        self.oldest = self.oldest.max(Some(age));
    }

    fn row(self, (workflow, gate): &Key<'_>, in_force: bool, whole: u64) -> GateStats {
        GateStats {
            workflow: (*workflow).to_owned(),
            gate: gate.clone().into_owned(),
            role: None,
            in_force,
            spread: Spread::of(self.lengths),
            time: Share { part: self.seconds, whole },
            can_reject: self.rejections.part > 0,
            rejections: self.rejections,
            first_pass: self.first_pass,
            skipped: self.skipped,
            standing: self.standing,
            oldest: self.oldest,
        }
    }
}
