//! The time that is looked at.

use crate::tasks::headers::ended_visit::EndedVisit;

/// A day, in seconds.
const DAY: u64 = 86_400;
/// A week, in seconds.
pub(crate) const WEEK: u64 = 7 * DAY;

/// From when until when is counted, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// The beginning.
    pub from: i64,
    /// The end: now.
    pub until: i64,
}

impl Span {
    /// Returns whether the visit ended in this time. What ended in the future, by another machine's clock, ended now.
    pub(crate) fn has(&self, stay: &EndedVisit) -> bool {
        self.holds(end(stay))
    }

    /// Returns whether something that happened then happened in this time.
    pub(crate) fn holds(&self, time: i64) -> bool {
        time >= self.from
    }

    /// Returns how many seconds between the two lie in this time.
    pub(crate) fn within(&self, from: i64, until: i64) -> u64 {
        u64::try_from(until.min(self.until).saturating_sub(from.max(self.from))).unwrap_or(0)
    }

    /// Returns how long it is, in seconds.
    pub(crate) fn seconds(&self) -> u64 {
        u64::try_from(self.until.saturating_sub(self.from)).unwrap_or(0)
    }

    /// Returns in which week before the end that was: 0 is the last.
    pub(crate) fn weeks_ago(&self, time: i64) -> usize {
        let ago = u64::try_from(self.until.saturating_sub(time)).unwrap_or(0);
        usize::try_from(ago / WEEK).unwrap_or(usize::MAX)
    }
}

/// Returns when a visit ended.
pub(crate) fn end(stay: &EndedVisit) -> i64 {
    stay.entered.saturating_add_unsigned(stay.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn only_what_lies_in_it_counts() {
        let span = Span { from: 100, until: 200 };
        assert_eq!(span.within(50, 150), 50);
        assert_eq!(span.within(150, 250), 50);
        assert_eq!(span.within(120, 130), 10);
        assert_eq!(span.within(10, 20), 0);
        assert_eq!(span.within(130, 120), 0);
    }
}
