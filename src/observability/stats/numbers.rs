//! Periods of time, percentiles and shares, and the verdicts of visits.

use std::collections::HashSet;

use serde::{Serialize, Serializer};
use serde_json::json;

use crate::domain::{Ending, Outcome};
use crate::rules::Rules;
use crate::tasks::headers::summary::{EndedVisit, TaskSummary, time};

/// Percentiles of durations, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Spread {
    pub count: usize,
    pub p50: u64,
    pub p85: u64,
    pub p95: u64,
}

impl Spread {
    /// Returns the percentiles of these durations; `None` if there are none.
    pub(crate) fn of(mut lengths: Vec<u64>) -> Option<Self> {
        lengths.sort_unstable();
        let at = |percent| percentile(&lengths, percent);
        Some(Self { count: lengths.len(), p50: at(50)?, p85: at(85)?, p95: at(95)? })
    }
}

/// Returns a percentile, interpolated.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let reach = percent * sorted.len().checked_sub(1)?;
    let (place, rest) = (reach / 100, reach % 100);
    let low = sorted[place];
    let high = sorted.get(place + 1).copied().unwrap_or(low);
    let step = u128::from(high - low) * u128::try_from(rest).unwrap_or(0) / 100;
    Some(low + u64::try_from(step).unwrap_or(0))
}

/// A part of a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub part: u64,
    pub whole: u64,
}

impl Share {
    pub(crate) fn count(&mut self, is_part: bool) {
        self.whole += 1;
        self.part += u64::from(is_part);
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.part += other.part;
        self.whole += other.whole;
    }

    /// Returns the rate, from 0 to 1; `None` if the whole is 0.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts and seconds of projects are far below 2^52"
    )]
    pub(crate) fn rate(self) -> Option<f64> {
        (self.whole > 0).then(|| self.part as f64 / self.whole as f64)
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({"count": self.part, "of": self.whole, "rate": self.rate().map(rounded)})
            .serialize(serializer)
    }
}

/// Rounds to four digits.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

/// Serializes a rounded number.
#[expect(clippy::ref_option, reason = "serde calls it so")]
pub(crate) fn rounded_number<S: Serializer>(
    value: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.map(rounded).serialize(serializer)
}

/// Serializes a time as text.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(crate) fn time_text<S: Serializer>(seconds: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    time(*seconds).to_string().serialize(serializer)
}

/// A week, in seconds.
pub(crate) const WEEK: u64 = 7 * 86_400;

/// The counted time, until now, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub from: i64,
    pub until: i64,
}

impl Span {
    /// Returns true if the visit ended in this period. A visit that ended in the future, by another machine's clock, counts as ended now.
    pub(crate) fn has(&self, stay: &EndedVisit) -> bool {
        self.holds(end(stay))
    }

    /// Returns true if the time is in this period.
    pub(crate) fn holds(&self, time: i64) -> bool {
        time >= self.from
    }

    /// Returns the number of seconds between the two times that are in this period.
    pub(crate) fn within(&self, from: i64, until: i64) -> u64 {
        u64::try_from(until.min(self.until).saturating_sub(from.max(self.from))).unwrap_or(0)
    }

    /// Returns the length of the period, in seconds.
    pub(crate) fn seconds(&self) -> u64 {
        u64::try_from(self.until.saturating_sub(self.from)).unwrap_or(0)
    }

    /// Returns the length of the period in weeks; `None` if it is shorter than one.
    #[expect(clippy::cast_precision_loss, reason = "seconds of projects are far below 2^52")]
    pub(crate) fn weeks(&self) -> Option<f64> {
        let weeks = self.seconds() as f64 / WEEK as f64;
        (weeks >= 1.0).then_some(weeks)
    }

    /// Returns the week of a time, counted from the end: 0 is the last.
    pub(crate) fn weeks_ago(&self, time: i64) -> usize {
        let ago = u64::try_from(self.until.saturating_sub(time)).unwrap_or(0);
        usize::try_from(ago / WEEK).unwrap_or(usize::MAX)
    }
}

/// Returns the end of a visit.
pub(crate) fn end(stay: &EndedVisit) -> i64 {
    stay.entered.saturating_add_unsigned(stay.seconds)
}

/// Returns the time when a task was created, or arrived at its first gate, whichever is earlier.
pub(crate) fn start(task: &TaskSummary) -> i64 {
    let created = task.created.as_second();
    task.visits.first().map_or(created, |stay| stay.entered.min(created))
}

/// Returns the end of the last visit of a task: for a finished task, the time when it was finished.
pub(crate) fn last_end(task: &TaskSummary) -> i64 {
    task.visits.last().map_or(task.updated.as_second(), end)
}

/// Returns the gate of a visit, without the branch.
pub(crate) fn gate_of(stay: &EndedVisit) -> &str {
    stay.gate.split_once('/').map_or(stay.gate.as_str(), |(gate, _)| gate)
}

/// Returns true if the visit was to a branch.
pub(crate) fn is_of_branch(stay: &EndedVisit) -> bool {
    stay.gate.contains('/')
}

/// Returns true if the entry is a visit at a gate: the reopening of a task is an entry, but not a visit.
pub(crate) fn took_time(stay: &EndedVisit) -> bool {
    stay.ended != Ending::Reopened.as_str()
}

/// Returns true if a completion settled the visit. `blocked` and `failed` settle nothing.
pub(crate) fn is_settled(stay: &EndedVisit) -> bool {
    let undecided = [Outcome::Blocked, Outcome::Failed];
    stay.completed && !undecided.iter().any(|outcome| outcome.as_str() == stay.ended.as_str())
}

/// The verdict of a visit on the work at a gate or branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict<'a> {
    /// The gate or branch.
    pub station: &'a str,
    /// True if the verdict asks for changes, or sent the task back.
    pub rejects: bool,
}

/// Returns the verdicts of a visit: for its own gate or branch, and, if it closed a fork, for the fork.
pub(crate) fn verdicts(stay: &EndedVisit) -> impl Iterator<Item = Verdict<'_>> {
    let of_station = is_settled(stay).then(|| Verdict {
        station: &stay.gate,
        // The visit that closes a fork takes the fork's route, which is not a verdict on the branch.
        rejects: stay.rejected || (stay.retry.is_some() && !is_of_branch(stay)),
    });
    let joined =
        stay.join.as_ref().map(|join| Verdict { station: &join.fork, rejects: join.failed });
    of_station.into_iter().chain(joined)
}

/// Returns the verdict for a whole gate, if the visit has one: the branches of a fork have it together.
pub(crate) fn gate_verdict(stay: &EndedVisit) -> Option<Verdict<'_>> {
    verdicts(stay).find(|verdict| !verdict.station.contains('/'))
}

/// The gates that can send a task back. At other gates, passing means nothing.
#[derive(Debug, Default)]
pub(crate) struct RejectingGates<'a>(HashSet<(&'a str, &'a str)>);

impl<'a> RejectingGates<'a> {
    /// Returns the gates of the rules, and those that sent tasks back under earlier rules.
    pub(crate) fn of(rules: &'a Rules, tasks: &[&'a TaskSummary]) -> Self {
        let gates = rules.project.workflows.iter().flat_map(|workflow| {
            let rejecting_gates = workflow.gates.iter().filter(|gate| gate.can_reject());
            rejecting_gates.map(|gate| (workflow.name.as_str(), gate.id.as_str()))
        });
        let seen = tasks.iter().flat_map(|task| {
            let rejections =
                task.visits.iter().filter_map(gate_verdict).filter(|verdict| verdict.rejects);
            rejections.map(|verdict| (task.routing.workflow.as_str(), verdict.station))
        });
        Self(gates.chain(seen).collect())
    }

    /// Returns the verdict of the visit, if it was at one of these gates.
    pub(crate) fn verdict<'t>(
        &self,
        task: &TaskSummary,
        stay: &'t EndedVisit,
    ) -> Option<Verdict<'t>> {
        gate_verdict(stay)
            .filter(|verdict| self.0.contains(&(task.routing.workflow.as_str(), verdict.station)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points(lengths: &[u64]) -> Option<(u64, u64, u64)> {
        Spread::of(lengths.to_vec()).map(|spread| (spread.p50, spread.p85, spread.p95))
    }

    #[test]
    fn the_points_of_few_lengths() {
        assert_eq!(points(&[]), None);
        assert_eq!(points(&[7]), Some((7, 7, 7)));
        assert_eq!(points(&[9, 1]), Some((5, 7, 8)));
        assert_eq!(points(&[100, 1, 2]), Some((2, 70, 90)));
        assert_eq!(points(&(0..=100).collect::<Vec<_>>()), Some((50, 85, 95)));
        assert_eq!(points(&[0, u64::MAX]).map(|points| points.0), Some(u64::MAX / 2));
    }

    proptest! {
        #[test]
        fn the_points_are_in_order_within_the_lengths_and_split_them(
            mut lengths in proptest::collection::vec(0_u64..1_000_000, 1..200),
        ) {
            let spread = Spread::of(lengths.clone()).unwrap();
            lengths.sort_unstable();
            prop_assert!(lengths[0] <= spread.p50 && spread.p50 <= spread.p85);
            prop_assert!(spread.p85 <= spread.p95 && spread.p95 <= lengths[lengths.len() - 1]);
            let below = lengths.iter().filter(|length| **length <= spread.p85).count();
            prop_assert!(below * 100 >= (lengths.len() - 1) * 85, "{below} of {}", lengths.len());
        }
    }

    #[test]
    fn a_share_of_nothing_is_none() {
        assert_eq!(Share::default().rate(), None);
        assert_eq!(Share { part: 1, whole: 4 }.rate(), Some(0.25));
    }

    #[test]
    fn weeks_are_counted_from_the_end() {
        let span = Span { from: 0, until: 3_000_000 };
        let week = i64::try_from(WEEK).unwrap();
        for (time, weeks) in
            [(3_000_000, 0), (3_000_500, 0), (3_000_001 - week, 0), (3_000_000 - week, 1), (0, 4)]
        {
            assert_eq!(span.weeks_ago(time), weeks, "{time}");
        }
    }

    #[test]
    fn a_span_counts_only_its_events() {
        let span = Span { from: 100, until: 200 };
        assert_eq!(span.within(50, 150), 50);
        assert_eq!(span.within(150, 250), 50);
        assert_eq!(span.within(120, 130), 10);
        assert_eq!(span.within(10, 20), 0);
        assert_eq!(span.within(130, 120), 0);
    }
}

#[cfg(test)]
mod verdict_tests {
    use super::*;
    use crate::observability::stats::report::tests::{passed, sent_back};
    use crate::tasks::headers::summary::JoinedFork;

    fn verdicts_of(stay: &EndedVisit) -> Vec<(&str, bool)> {
        verdicts(stay).map(|verdict| (verdict.station, verdict.rejects)).collect()
    }

    #[test]
    fn verdicts_are_counted() {
        assert_eq!(verdicts_of(&passed("work", "review")), [("work", false)]);
        assert_eq!(verdicts_of(&sent_back("review", "work")), [("review", true)]);
        for undecided in ["blocked", "failed"] {
            let mut stay = passed("work", "work");
            stay.ended = undecided.into();
            assert_eq!(verdicts_of(&stay), [], "{undecided}");
        }
        let mut late = passed("work", "work");
        (late.ended, late.completed) = ("timeout".into(), false);
        assert_eq!(verdicts_of(&late), []);
        let mut decision = passed("review", "work");
        (decision.ended, decision.retry) = ("needs_fixes".into(), Some(1));
        assert_eq!(
            verdicts_of(&decision),
            [("review", true)],
            "a gate's own word that leads back is a rejection, too"
        );
    }

    #[test]
    fn a_fork_speaks_when_it_is_closed() {
        let mut stay = passed("checks/security", "");
        assert_eq!(verdicts_of(&stay), [("checks/security", false)]);
        assert_eq!(gate_verdict(&stay), None);
        stay.join = Some(Box::new(JoinedFork { fork: "checks".into(), failed: true }));
        stay.retry = Some(1);
        assert_eq!(verdicts_of(&stay), [("checks/security", false), ("checks", true)]);
        assert_eq!(gate_verdict(&stay), Some(Verdict { station: "checks", rejects: true }));
    }
}
