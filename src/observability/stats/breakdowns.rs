//! The same numbers by agent and by tag.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::gates::GateStats;
use super::loops::Loops;
use super::numbers::{Share, Span, Spread, rounded_number};
use super::verdict::{Judges, gate_of, gate_verdict, is_settled, verdicts};
use crate::tasks::headers::summary::EndedVisit;
use crate::tasks::headers::summary::TaskSummary;

/// An agent, and how its work goes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentStats {
    pub agent: String,
    /// How long the visits were that it settled, from when the task came to the gate.
    #[serde(rename = "duration")]
    pub spread: Option<Spread>,
    /// How long half of them took at most, where 1 is the median of all visits of the gate: who works at slow gates is not slow.
    #[serde(serialize_with = "rounded_number")]
    pub pace: Option<f64>,
    /// Of these visits, those whose work a later gate sent back.
    pub sent_back: Share,
    /// Of these visits, those in which it sent back others' work.
    pub rejects: Share,
}

/// Counts agents.
#[derive(Debug, Default)]
pub(crate) struct Agents<'a> {
    counts: HashMap<&'a str, AgentCount<'a>>,
}

#[derive(Debug, Default)]
struct AgentCount<'a> {
    /// How long, by workflow and gate.
    visits: HashMap<(&'a str, &'a str), Vec<u64>>,
    sent_back: Share,
    rejects: Share,
}

impl<'a> Agents<'a> {
    /// Counts a task.
    pub(crate) fn see(&mut self, task: &'a TaskSummary, span: &Span) {
        let mut sent_back = vec![false; task.visits.len()];
        for (index, stay) in task.visits.iter().enumerate() {
            if gate_verdict(stay).is_some_and(|verdict| verdict.rejects) {
                let (before, _) = task.visits.split_at(index);
                work_of(before, stay).for_each(|index| sent_back[index] = true);
            }
        }
        let settled = task
            .visits
            .iter()
            .zip(sent_back)
            .filter(|(stay, _)| is_settled(stay) && span.has(stay));
        for (stay, sent_back) in settled {
            let Some(agent) = &stay.agent else { continue };
            let count = self.counts.entry(agent).or_default();
            count
                .visits
                .entry((task.routing.workflow.as_str(), &stay.gate))
                .or_default()
                .push(stay.seconds);
            count.sent_back.count(sent_back);
            count.rejects.count(verdicts(stay).next().is_some_and(|own| own.rejects));
        }
    }

    /// Returns the agents; who did most comes first.
    pub(crate) fn close(self, gates: &[GateStats]) -> Vec<AgentStats> {
        let medians: HashMap<(&str, &str), u64> = gates
            .iter()
            .filter_map(|own| Some(((own.workflow.as_str(), own.gate.as_str()), own.spread?.p50)))
            .collect();
        let mut rows: Vec<AgentStats> = self
            .counts
            .into_iter()
            .map(|(agent, count)| AgentStats {
                agent: agent.to_owned(),
                pace: pace(&count.visits, &medians),
                spread: Spread::of(count.visits.into_values().flatten().collect()),
                sent_back: count.sent_back,
                rejects: count.rejects,
            })
            .collect();
        rows.sort_by(|a, b| {
            b.rejects.whole.cmp(&a.rejects.whole).then_with(|| a.agent.cmp(&b.agent))
        });
        rows
    }
}

/// Returns the median of the visits, each measured by its gate.
fn pace(
    visits: &HashMap<(&str, &str), Vec<u64>>,
    medians: &HashMap<(&str, &str), u64>,
) -> Option<f64> {
    let measured = visits.iter().flat_map(|(gate, times)| {
        let whole = medians.get(gate).copied();
        times.iter().filter_map(move |part| Share { part: *part, whole: whole? }.rate())
    });
    let mut all: Vec<f64> = measured.collect();
    all.sort_unstable_by(f64::total_cmp);
    let upper = *all.get(all.len() / 2)?;
    Some(if all.len() % 2 == 1 { upper } else { f64::midpoint(all[all.len() / 2 - 1], upper) })
}

/// Returns which earlier visits did the work that a rejection sends back: the last that settled the gate to which the task goes; all
/// branches, where that is a fork.
fn work_of(before: &[EndedVisit], rejection: &EndedVisit) -> impl Iterator<Item = usize> {
    let to = rejection.to.as_deref().unwrap_or_default();
    let is_work = move |stay: &EndedVisit| gate_of(stay) == to && is_settled(stay);
    let entered = before.iter().rfind(|stay| is_work(stay)).map(|stay| stay.entered);
    let found = before
        .iter()
        .enumerate()
        .filter(move |(_, stay)| is_work(stay) && Some(stay.entered) == entered);
    found.map(|(index, _)| index)
}

/// A tag, and how its tasks do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct TagStats {
    /// Nothing for tasks without tags.
    pub tag: Option<String>,
    /// How long the tasks took that were completed in this time, from when they were made.
    #[serde(rename = "leadTime")]
    pub lead: Option<Spread>,
    /// Of the completions at gates that can send its tasks back, those that did.
    pub rejections: Share,
    /// How often its tasks went through the same gates.
    #[serde(rename = "passes")]
    pub loops: Loops,
    /// What the spread is of.
    #[serde(skip)]
    leads: Vec<u64>,
}

/// Counts tags.
#[derive(Debug, Default)]
pub(crate) struct Tags {
    counts: BTreeMap<Option<String>, TagStats>,
}

impl Tags {
    /// Counts a task under each of its tags; `lead` is how long it took, if it was completed in this time.
    pub(crate) fn see(
        &mut self,
        task: &TaskSummary,
        span: &Span,
        judges: &Judges<'_>,
        lead: Option<u64>,
    ) {
        let mut tags: Vec<Option<&String>> = task.tags.iter().map(Some).collect();
        tags.sort_unstable();
        tags.dedup();
        if tags.is_empty() {
            tags.push(None);
        }
        for tag in tags {
            let count = self.counts.entry(tag.cloned()).or_default();
            count.loops.see(task, span);
            count.leads.extend(lead);
            let in_time = task.visits.iter().filter(|stay| span.has(stay));
            for verdict in in_time.filter_map(|stay| judges.verdict(task, stay)) {
                count.rejections.count(verdict.rejects);
            }
        }
    }

    /// Returns the tags whose tasks moved in this time; that with most of them comes first.
    pub(crate) fn close(self) -> Vec<TagStats> {
        let mut rows: Vec<TagStats> = self
            .counts
            .into_iter()
            .filter(|(_, count)| count.loops.tasks > 0)
            .map(|(tag, mut count)| {
                count.loops.close();
                count.lead = Spread::of(std::mem::take(&mut count.leads));
                TagStats { tag, ..count }
            })
            .collect();
        rows.sort_by(|a, b| b.loops.tasks.cmp(&a.loops.tasks).then_with(|| a.tag.cmp(&b.tag)));
        rows
    }
}
