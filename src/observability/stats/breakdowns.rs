//! Statistics by agent, by tag and by week, and of deliveries, as DORA counts them: frequency, lead time, failure rate, and the time
//! until the next delivery fixes a failure.

use std::collections::{BTreeMap, HashMap};

use serde::{Serialize, Serializer};
use serde_json::json;

use super::gates::{GateStats, Loops};
use super::numbers::{
    RejectingGates, Share, Span, Spread, WEEK, end, gate_of, gate_verdict, is_settled,
    rounded_number, time_text, verdicts,
};
use crate::domain::{Ending, Outcome};
use crate::rules::Rules;
use crate::tasks::headers::summary::{EndedVisit, TaskSummary};

/// The statistics of an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentStats {
    pub agent: String,
    /// The durations of the visits that the agent settled, from the task's arrival at the gate.
    #[serde(rename = "duration")]
    pub spread: Option<Spread>,
    /// The median of these durations, each divided by the median of its gate: an agent at slow gates is not slow.
    #[serde(serialize_with = "rounded_number")]
    pub pace: Option<f64>,
    /// The share of these visits whose work a later gate sent back.
    pub sent_back: Share,
    /// The share of these visits that sent back the work of others.
    pub rejects: Share,
}

/// Counts agents.
#[derive(Debug, Default)]
pub(crate) struct Agents<'a> {
    counts: HashMap<&'a str, AgentCount<'a>>,
}

#[derive(Debug, Default)]
struct AgentCount<'a> {
    /// The durations, by workflow and gate.
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
            count.rejects.count(verdicts(stay).next().is_some_and(|verdict| verdict.rejects));
        }
    }

    /// Returns the agents, the one with the most visits first.
    pub(crate) fn close(self, gates: &[GateStats]) -> Vec<AgentStats> {
        let medians: HashMap<(&str, &str), u64> = gates
            .iter()
            .filter_map(|stats| {
                Some(((stats.workflow.as_str(), stats.gate.as_str()), stats.spread?.p50))
            })
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

/// Returns the median of the durations, each divided by the median of its gate.
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

/// Returns the earlier visits whose work a rejection sends back: the last visit that settled the gate to which the task returns; all
/// branches, if that is a fork.
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

/// The statistics of a tag.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct TagStats {
    /// The tag; `None` for tasks without tags.
    pub tag: Option<String>,
    /// The time from the creation to the completion of the tasks that were completed in this time.
    #[serde(rename = "leadTime")]
    pub lead: Option<Spread>,
    /// The share of rejections among the completions at gates that can send the tag's tasks back.
    pub rejections: Share,
    /// The repeated passes of the tag's tasks through the same gates.
    #[serde(rename = "passes")]
    pub loops: Loops,
    /// The values of the spread.
    #[serde(skip)]
    leads: Vec<u64>,
}

/// Counts tags.
#[derive(Debug, Default)]
pub(crate) struct Tags {
    counts: BTreeMap<Option<String>, TagStats>,
}

impl Tags {
    /// Counts a task under each of its tags; `lead` is its lead time, if it was completed in this time.
    pub(crate) fn see(
        &mut self,
        task: &TaskSummary,
        span: &Span,
        rejecting_gates: &RejectingGates<'_>,
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
            for verdict in in_time.filter_map(|stay| rejecting_gates.verdict(task, stay)) {
                count.rejections.count(verdict.rejects);
            }
        }
    }

    /// Returns the tags whose tasks moved in this time, the one with the most tasks first.
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

/// The most weeks that are listed; earlier ones count only in the totals.
const MOST: usize = 104;
/// The least number of verdicts in each half for a trend.
const LEAST_VERDICTS: u64 = 10;
/// The number of standard errors that two rates must be apart for the difference to be significant.
const SIGNIFICANCE: f64 = 2.0;

/// A period of seven days, the last of which ends now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Week {
    /// The beginning, in seconds since 1970.
    #[serde(serialize_with = "time_text")]
    pub from: i64,
    #[serde(serialize_with = "time_text")]
    pub until: i64,
    pub created: u64,
    pub completed: u64,
    /// The lead times of the completed tasks.
    #[serde(rename = "leadTime")]
    pub lead: Option<Spread>,
    /// The share of rejections among the completions at gates that can send tasks back.
    pub rejections: Share,
    /// The values of the spread.
    #[serde(skip)]
    leads: Vec<u64>,
}

/// The rejection rates of the first and the second half of the time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Trend {
    pub earlier: Share,
    pub later: Share,
}

/// The direction of a trend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    Rising,
    Falling,
    /// No trend: the difference may be chance.
    Steady,
}

impl Serialize for Trend {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({"direction": self.direction(), "earlier": self.earlier, "later": self.later})
            .serialize(serializer)
    }
}

impl Trend {
    /// Returns the direction of the rate; `None` if there are too few verdicts to decide.
    #[expect(clippy::cast_precision_loss, reason = "counts of verdicts are far below 2^52")]
    pub(crate) fn direction(&self) -> Option<Direction> {
        let (earlier, later) = (self.earlier.rate()?, self.later.rate()?);
        if self.earlier.whole.min(self.later.whole) < LEAST_VERDICTS {
            return None;
        }
        let mut both = self.earlier;
        both.add(self.later);
        let rate = both.rate()?;
        let places = 1.0 / self.earlier.whole as f64 + 1.0 / self.later.whole as f64;
        let error = (rate * (1.0 - rate) * places).sqrt();
        Some(match later - earlier {
            rise if rise > SIGNIFICANCE * error => Direction::Rising,
            fall if -fall > SIGNIFICANCE * error => Direction::Falling,
            _ => Direction::Steady,
        })
    }
}

/// Counts weeks.
#[derive(Debug)]
pub(crate) struct Weeks {
    span: Span,
    /// The weeks, the last one first.
    counts: Vec<Week>,
    trend: Trend,
}

impl Weeks {
    pub(crate) fn of(span: Span) -> Self {
        let count = span.seconds().div_ceil(WEEK).clamp(1, MOST as u64);
        let mut end = span.until;
        let weeks = (0..count).map(|_| {
            let until = end;
            end = until.saturating_sub_unsigned(WEEK);
            Week { from: end.max(span.from), until, ..Week::default() }
        });
        Self { span, counts: weeks.collect(), trend: Trend::default() }
    }

    /// Counts a task that was created at `time`.
    pub(crate) fn created(&mut self, time: i64) {
        if let Some(week) = self.week(time) {
            week.created += 1;
        }
    }

    /// Counts a task that was completed at `time`, after `lead` seconds.
    pub(crate) fn completed(&mut self, time: i64, lead: u64) {
        if let Some(week) = self.week(time) {
            week.completed += 1;
            week.leads.push(lead);
        }
    }

    /// Counts a verdict.
    pub(crate) fn judged(&mut self, time: i64, rejects: bool) {
        if !self.span.holds(time) {
            return;
        }
        let is_early = self.span.within(time, self.span.until) > self.span.seconds() / 2;
        let half = if is_early { &mut self.trend.earlier } else { &mut self.trend.later };
        half.count(rejects);
        if let Some(week) = self.week(time) {
            week.rejections.count(rejects);
        }
    }

    fn week(&mut self, time: i64) -> Option<&mut Week> {
        let ago = self.span.weeks_ago(time);
        self.counts.get_mut(ago).filter(|_| self.span.holds(time))
    }

    /// Returns the weeks, the last one last, and the trend of rejections.
    pub(crate) fn close(mut self) -> (Vec<Week>, Trend) {
        for week in &mut self.counts {
            week.lead = Spread::of(std::mem::take(&mut week.leads));
        }
        self.counts.reverse();
        (self.counts, self.trend)
    }
}

/// Deliveries in a period; the durations are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeliveryStats {
    pub count: u64,
    /// The average number per week; `None` if the period is shorter than a week.
    #[serde(serialize_with = "rounded_number")]
    pub per_week: Option<f64>,
    /// The time from the creation of a task to its first delivery.
    pub lead_time: Option<Spread>,
    /// The share of deliveries after which the task was sent back, reopened or failed.
    pub failures: Share,
    /// The time from such a failure to the next delivery of the task.
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

    /// Returns the numbers; `None` if no workflow in force marks a gate.
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

/// Returns a number per week.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_no_trend() {
        let trend = |earlier: (u64, u64), later: (u64, u64)| {
            let share = |(part, whole)| Share { part, whole };
            Trend { earlier: share(earlier), later: share(later) }.direction()
        };
        assert_eq!(trend((0, 0), (5, 5)), None);
        assert_eq!(trend((0, 9), (9, 9)), None, "too few to tell");
        assert_eq!(trend((2, 10), (4, 10)), Some(Direction::Steady));
        assert_eq!(trend((20, 100), (40, 100)), Some(Direction::Rising));
        assert_eq!(trend((40, 100), (20, 100)), Some(Direction::Falling));
        assert_eq!(trend((0, 50), (0, 50)), Some(Direction::Steady));
        assert_eq!(trend((50, 50), (50, 50)), Some(Direction::Steady));
    }

    #[test]
    fn weeks_end_now_and_the_first_may_be_cut() {
        let week = i64::try_from(WEEK).unwrap();
        let mut weeks = Weeks::of(Span { from: 100, until: 100 + 2 * week + 10 });
        weeks.created(105);
        weeks.created(99);
        weeks.completed(100 + 2 * week + 10, 7);
        weeks.completed(i64::MAX, 9);
        weeks.judged(105, true);
        weeks.judged(100 + 2 * week, false);
        let (weeks, trend) = weeks.close();
        assert_eq!(
            weeks.iter().map(|week| (week.from, week.created, week.completed)).collect::<Vec<_>>(),
            [(100, 1, 0), (110, 0, 0), (110 + week, 0, 2)]
        );
        assert_eq!(
            trend,
            Trend { earlier: Share { part: 1, whole: 1 }, later: Share { part: 0, whole: 1 } }
        );
    }

    #[test]
    fn a_task_from_the_dawn_of_time_costs_no_memory() {
        let (weeks, _) = Weeks::of(Span { from: i64::MIN, until: i64::MAX }).close();
        assert_eq!(weeks.len(), MOST);
    }
}
