//! When the watcher looks at what: the tasks, time limits, git's index, work to hand out, everything. It asks no clock itself.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::file_events::FileEvents;
use super::wakeup::WatchedPlace;

/// How often everything is looked at, whatever events say.
const ROUND: Duration = Duration::from_secs(5);
/// The same without file events.
pub(crate) const POLL: Duration = Duration::from_secs(1);
/// The least time between two looks at the tasks: edits have to settle anyway.
const TENDING: Duration = Duration::from_millis(500);
/// The least time between two looks at time limits, when tasks change.
const RECOUNTING: Duration = Duration::from_secs(1);
/// The least time between two looks at git's index.
const LOOKING: Duration = Duration::from_millis(500);
/// How often time limits are looked at when nothing happens: the clock may jump.
const CLOCKS: Duration = Duration::from_secs(30);
/// What takes long gets a tenth of the time: so many times as long it rests.
const REST: u32 = 10;

/// When what is due.
pub(crate) struct Schedule {
    /// When the tasks are looked at.
    tend_at: Instant,
    tended_at: Option<Instant>,
    /// When time limits are looked at, and from when on changes of tasks bring that forward.
    clocks_at: Instant,
    clocks_after: Instant,
    /// When git's index is looked at, if it may have changed, and not before.
    index_at: Option<Instant>,
    index_after: Instant,
    /// When everything is looked at.
    round_at: Instant,
    /// When work may be handed out again, and whether some waits for that.
    hand_out_at: Instant,
    hand_out_due: bool,
    /// Whether the watcher ends when nothing is left to do: then nothing rests.
    once: bool,
}

impl Schedule {
    /// Has everything looked at from then on.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            tend_at: now,
            tended_at: None,
            clocks_at: now,
            clocks_after: now,
            index_at: Some(now),
            index_after: now,
            round_at: now,
            hand_out_at: now,
            hand_out_due: false,
            once: false,
        }
    }

    /// Has everything looked at once more before the end, and nothing later.
    pub(crate) fn end_with(&mut self, end: Instant, now: Instant) {
        (self.round_at, self.tend_at) = (end + ROUND, now);
        (self.hand_out_at, self.index_after, self.once) = (now, now, true);
    }

    /// Brings looks forward where something may have changed.
    pub(crate) fn note(&mut self, touched: &BTreeSet<WatchedPlace>, now: Instant) {
        let touched = |place| touched.contains(&place);
        if touched(WatchedPlace::Anywhere) {
            self.round_at = now;
        }
        if touched(WatchedPlace::Tasks)
            || touched(WatchedPlace::Rules)
            || touched(WatchedPlace::Anywhere)
        {
            self.clocks_at = self.clocks_at.min(now.max(self.clocks_after));
        }
        if touched(WatchedPlace::Repository) {
            self.index_at = self.index_at.or(Some(now.max(self.index_after)));
        }
        if touched(WatchedPlace::Tasks) {
            let earliest = self.tended_at.map_or(now, |last| now.max(last + TENDING));
            self.tend_at = self.tend_at.min(earliest);
        }
    }

    /// Returns whether everything is to be looked at now, and plans the next time.
    pub(crate) fn begins_round(&mut self, file_events: &FileEvents, now: Instant) -> bool {
        let begins = now >= self.round_at;
        if begins {
            self.round_at = now + if file_events.see() { ROUND } else { POLL };
            self.tend_at = now;
            self.index_at = Some(now);
        }
        begins
    }

    /// Returns whether the tasks are to be looked at.
    pub(crate) fn is_tending_due(&self, now: Instant) -> bool {
        now >= self.tend_at
    }

    /// Notes that the tasks were looked at, and how many files changed too recently.
    pub(crate) fn tended(&mut self, growing: usize, now: Instant) {
        self.tended_at = Some(now);
        self.tend_at = if growing > 0 { now + TENDING } else { self.round_at.max(now + TENDING) };
    }

    /// Returns whether git's index is to be looked at.
    pub(crate) fn is_index_due(&self, now: Instant) -> bool {
        self.index_at.is_some_and(|at| now >= at)
    }

    /// Notes how long a look at git's index took.
    pub(crate) fn looked_at_index(&mut self, start: Instant, now: Instant) {
        let rest = LOOKING.max((now - start) * REST);
        self.index_at = None;
        self.index_after = if self.once { now } else { now + rest };
    }

    /// Returns whether something may have run out.
    pub(crate) fn are_clocks_due(&self, now: Instant) -> bool {
        now >= self.clocks_at
    }

    /// Notes how long a look at time limits took, and how soon the next thing runs out.
    pub(crate) fn read_clocks(&mut self, start: Instant, now: Instant, next: Option<Duration>) {
        self.clocks_after = now + RECOUNTING.max((now - start) * REST);
        self.clocks_at = now + next.map_or(CLOCKS, |next| next.min(CLOCKS));
    }

    /// Returns whether work may be handed out now; if not, that is waited for.
    pub(crate) fn may_hand_out(&mut self, now: Instant) -> bool {
        self.hand_out_due = now < self.hand_out_at;
        !self.hand_out_due
    }

    /// Notes how long handing out took.
    pub(crate) fn handed_out(&mut self, start: Instant, now: Instant) {
        self.hand_out_at = if self.once { now } else { now + (now - start) * REST };
    }

    /// Returns when to look again if nothing happens. Time limits are left out: they wait until all else is done.
    pub(crate) fn next(&self) -> Instant {
        let hand_out = if self.hand_out_due { self.hand_out_at } else { self.round_at };
        let index = self.index_at.unwrap_or(self.round_at);
        self.round_at.min(self.tend_at).min(hand_out).min(index)
    }

    /// Returns when to look at time limits.
    pub(crate) fn clocks_at(&self) -> Instant {
        self.clocks_at
    }

    /// Returns whether that is before the next look at everything.
    pub(crate) fn is_before_round(&self, until: Instant) -> bool {
        until < self.round_at
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::watch::wakeup::WatchedPaths;

    fn blind() -> FileEvents {
        let nowhere = PathBuf::new;
        FileEvents::blind(WatchedPaths {
            root: nowhere(),
            local: nowhere(),
            inbox: nowhere(),
            tasks: nowhere(),
            workflows: nowhere(),
            git: nowhere(),
        })
    }

    #[test]
    fn everything_is_looked_at_every_so_often_and_where_something_may_have_happened_sooner() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start);
        assert!(
            schedule.is_tending_due(start)
                && schedule.are_clocks_due(start)
                && schedule.may_hand_out(start)
        );
        assert!(schedule.begins_round(&blind(), start) && !schedule.begins_round(&blind(), start));
        schedule.tended(0, start);
        assert!(schedule.is_index_due(start));
        schedule.looked_at_index(start, start);
        assert_eq!(schedule.next(), start + POLL);
        schedule.note(&BTreeSet::from([WatchedPlace::Tasks]), start);
        assert_eq!(schedule.next(), start + TENDING, "they were looked at just now");
        schedule.note(&BTreeSet::from([WatchedPlace::Anywhere]), start);
        assert!(schedule.begins_round(&blind(), start));
    }

    #[test]
    fn what_takes_long_is_done_less_often() {
        let start = Instant::now();
        let long = Duration::from_mins(1);
        let now = start + long;
        let mut schedule = Schedule::new(start);
        schedule.read_clocks(start, now, None);
        assert_eq!(schedule.clocks_at(), now + CLOCKS);
        schedule.read_clocks(start, now, Some(TENDING));
        assert_eq!(
            schedule.clocks_at(),
            now + TENDING,
            "what runs out is seen in time, all the same"
        );
        schedule.read_clocks(start, now, None);
        schedule.note(&BTreeSet::from([WatchedPlace::Tasks]), now);
        assert_eq!(schedule.clocks_at(), now + CLOCKS);
        schedule.note(&BTreeSet::from([WatchedPlace::Tasks]), now + long * 10);
        assert!(schedule.are_clocks_due(now + long * 10));

        schedule.handed_out(start, now);
        assert!(!schedule.may_hand_out(now) && schedule.may_hand_out(now + long * REST));
    }

    #[test]
    fn the_index_is_looked_at_when_git_was_at_work_and_not_all_the_time() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start);
        schedule.looked_at_index(start, start);
        assert!(!schedule.is_index_due(start + ROUND));
        for _ in 0..2 {
            schedule.note(&BTreeSet::from([WatchedPlace::Repository]), start);
            assert!(
                !schedule.is_index_due(start) && schedule.is_index_due(start + LOOKING),
                "it was just now"
            );
        }
        schedule.looked_at_index(start, start + LOOKING);
        schedule.note(&BTreeSet::from([WatchedPlace::Repository]), start + LOOKING);
        assert!(
            !schedule.is_index_due(start + LOOKING * 10)
                && schedule.is_index_due(start + LOOKING * 11)
        );
    }

    #[test]
    fn who_looks_once_waits_for_nothing_that_is_due_later() {
        let now = Instant::now();
        let mut schedule = Schedule::new(now);
        schedule.end_with(now + POLL, now);
        assert!(!schedule.begins_round(&blind(), now + POLL) && schedule.is_tending_due(now));
        schedule.tended(0, now);
        schedule.looked_at_index(now, now);
        assert!(!schedule.is_before_round(schedule.next()));
        schedule.tended(1, now);
        assert!(schedule.is_before_round(schedule.next()));
        // Nothing that took its time is waited for.
        let later = now + Duration::from_mins(1);
        schedule.handed_out(now, later);
        schedule.looked_at_index(now, later);
        schedule.note(&BTreeSet::from([WatchedPlace::Repository]), later);
        assert!(schedule.may_hand_out(later) && schedule.is_index_due(later));
    }
}
