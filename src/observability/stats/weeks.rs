//! The same numbers week by week, and whether rejections become more.

use serde::{Serialize, Serializer};
use serde_json::json;

use super::numbers::{Share, Span, Spread, WEEK, time_text};

/// So many weeks are told apart; what was before is only counted in the whole.
const MOST: usize = 104;
/// A half with fewer verdicts says nothing.
const FEWEST: u64 = 10;
/// So many standard errors lie between two rates that differ by more than chance.
const SURE: f64 = 2.0;

/// Seven days, the last of which end now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Week {
    /// In seconds since 1970.
    #[serde(serialize_with = "time_text")]
    pub from: i64,
    #[serde(serialize_with = "time_text")]
    pub until: i64,
    pub created: u64,
    pub completed: u64,
    /// How long the completed tasks took.
    #[serde(rename = "leadTime")]
    pub lead: Option<Spread>,
    /// Of the completions at gates that can send tasks back, those that did.
    pub rejections: Share,
    /// What the spread is of.
    #[serde(skip)]
    leads: Vec<u64>,
}

/// Whether rejections become more: the first half of the time, and the second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Trend {
    pub earlier: Share,
    pub later: Share,
}

/// Where something tends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    Rising,
    Falling,
    /// What differs may be chance.
    Steady,
}

impl Serialize for Trend {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({"direction": self.direction(), "earlier": self.earlier, "later": self.later})
            .serialize(serializer)
    }
}

impl Trend {
    /// Returns where the rate tends; nothing where there are too few verdicts to tell.
    #[expect(clippy::cast_precision_loss, reason = "counts of verdicts are far below 2^52")]
    pub(crate) fn direction(&self) -> Option<Direction> {
        let (earlier, later) = (self.earlier.rate()?, self.later.rate()?);
        if self.earlier.whole.min(self.later.whole) < FEWEST {
            return None;
        }
        let mut both = self.earlier;
        both.add(self.later);
        let rate = both.rate()?;
        let places = 1.0 / self.earlier.whole as f64 + 1.0 / self.later.whole as f64;
        let error = (rate * (1.0 - rate) * places).sqrt();
        Some(match later - earlier {
            rise if rise > SURE * error => Direction::Rising,
            fall if -fall > SURE * error => Direction::Falling,
            _ => Direction::Steady,
        })
    }
}

/// Counts weeks.
#[derive(Debug)]
pub(crate) struct Weeks {
    span: Span,
    /// The last one first.
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

    /// Counts a task that was made then.
    pub(crate) fn created(&mut self, time: i64) {
        if let Some(week) = self.week(time) {
            week.created += 1;
        }
    }

    /// Counts a task that was completed then and had taken so many seconds.
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

    /// Returns the weeks, the last one last, and where rejections tend.
    pub(crate) fn close(mut self) -> (Vec<Week>, Trend) {
        for week in &mut self.counts {
            week.lead = Spread::of(std::mem::take(&mut week.leads));
        }
        self.counts.reverse();
        (self.counts, self.trend)
    }
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
