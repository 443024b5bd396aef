//! When what is looked at again: the tasks, the clocks, what can be handed out, everything. Looks at nothing itself, and asks no clock.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::file_events::FileEvents;
use super::wakeup::Place;

/// How often everything is looked at, whatever events say.
const ROUND: Duration = Duration::from_secs(5);
/// The same while there are no events.
pub(crate) const POLL: Duration = Duration::from_secs(1);
/// Between two looks at the tasks, at least: edits wait to be quiet anyway.
const TENDING: Duration = Duration::from_millis(500);
/// Between two looks at the clocks, at least, when tasks change.
const RECOUNTING: Duration = Duration::from_secs(1);
/// Between two looks at git's index, at least.
const LOOKING: Duration = Duration::from_millis(500);
/// How often the clocks are looked at when nothing happens.
const CLOCKS: Duration = Duration::from_secs(30);
/// Handing out takes one part of the time, and leaves so many to all else.
const HAND_OUT_SHARE: u32 = 9;

/// When what is due.
pub(crate) struct Schedule {
    /// When the tasks are to be looked at.
    tend_at: Instant,
    tended_at: Option<Instant>,
    /// Before that, changes of tasks are no reason to count anew.
    clocks_after: Instant,
    /// When something runs out, or has to be counted anew.
    clocks_at: Instant,
    /// Before that, git's index is not looked at again.
    index_after: Instant,
    /// When it is to be looked at, if something may have happened to it.
    index_at: Option<Instant>,
    /// When everything is to be looked at.
    round_at: Instant,
    /// When work may be handed out again: where there are very many tasks looking at them all takes its time.
    hand_out_at: Instant,
    /// Whether that is waited for.
    hand_out_due: bool,
    /// How long this goes on.
    goes: Goes,
}

/// How long a watcher goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goes {
    /// Until it is ended: what takes long leaves time to all else.
    On,
    /// Until nothing is left to do: there is nothing else to leave time to.
    Once,
}

impl Schedule {
    /// Has everything looked at from then on.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            tend_at: now,
            tended_at: None,
            clocks_after: now,
            clocks_at: now,
            index_after: now,
            index_at: Some(now),
            round_at: now,
            hand_out_at: now,
            hand_out_due: false,
            goes: Goes::On,
        }
    }

    /// Has everything looked at once more before the end, and nothing later.
    pub(crate) fn end_with(&mut self, end: Instant, now: Instant) {
        (self.round_at, self.tend_at) = (end + ROUND, now);
        (self.hand_out_at, self.index_after, self.goes) = (now, now, Goes::Once);
    }

    /// Brings forward what is to be looked at where something may have happened.
    pub(crate) fn note(&mut self, touched: &BTreeSet<Place>, now: Instant) {
        let touched = |place| touched.contains(&place);
        if touched(Place::Anywhere) {
            self.round_at = now;
        }
        if touched(Place::Tasks) || touched(Place::Rules) || touched(Place::Anywhere) {
            self.clocks_at = self.clocks_at.min(now.max(self.clocks_after));
        }
        if touched(Place::Repository) {
            self.index_at = self.index_at.or(Some(now.max(self.index_after)));
        }
        if touched(Place::Tasks) {
            self.tend_at =
                self.tend_at.min(self.tended_at.map_or(now, |last| now.max(last + TENDING)));
        }
    }

    /// Returns whether everything is to be looked at, and if so when that is to be the next time.
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

    /// Notes that the tasks were looked at, and how many files were changed too recently.
    pub(crate) fn tended(&mut self, growing: usize, now: Instant) {
        self.tended_at = Some(now);
        self.tend_at = if growing > 0 { now + TENDING } else { self.round_at.max(now + TENDING) };
    }

    /// Returns whether git's index is to be looked at.
    pub(crate) fn is_index_due(&self, now: Instant) -> bool {
        self.index_at.is_some_and(|at| now >= at)
    }

    /// Notes from when to when it was looked at: where it is large that takes its time, and never more than a tenth of all.
    pub(crate) fn looked_at_index(&mut self, start: Instant, now: Instant) {
        let rest = match self.goes {
            Goes::On => LOOKING.max((now - start) * 10),
            Goes::Once => Duration::ZERO,
        };
        (self.index_at, self.index_after) = (None, now + rest);
    }

    /// Returns whether something may have run out.
    pub(crate) fn are_clocks_due(&self, now: Instant) -> bool {
        now >= self.clocks_at
    }

    /// Notes from when to when the clocks were looked at, and how soon the next thing runs out.
    pub(crate) fn read_clocks(&mut self, start: Instant, now: Instant, next: Option<Duration>) {
        // Looking costs more where there are more tasks: changes of them never make it take more than a tenth of the time.
        self.clocks_after = now + RECOUNTING.max((now - start) * 10);
        // The clock may jump meanwhile, so it is asked again every so often.
        self.clocks_at = now + next.map_or(CLOCKS, |next| next.min(CLOCKS));
    }

    /// Returns whether work may be handed out; if not, that is waited for.
    pub(crate) fn may_hand_out(&mut self, now: Instant) -> bool {
        self.hand_out_due = now < self.hand_out_at;
        !self.hand_out_due
    }

    /// Notes from when to when work was handed out.
    pub(crate) fn handed_out(&mut self, start: Instant, now: Instant) {
        let rest = match self.goes {
            Goes::On => (now - start) * HAND_OUT_SHARE,
            Goes::Once => Duration::ZERO,
        };
        self.hand_out_at = now + rest;
    }

    /// Returns when to look again if nothing happens, but for the clocks: they are waited for once all else is done.
    pub(crate) fn next(&self) -> Instant {
        let hand_out = if self.hand_out_due { self.hand_out_at } else { self.round_at };
        let index = self.index_at.unwrap_or(self.round_at);
        self.round_at.min(self.tend_at).min(hand_out).min(index)
    }

    /// Returns when to look at the clocks.
    pub(crate) fn clocks_at(&self) -> Instant {
        self.clocks_at
    }

    /// Returns whether that is before everything is looked at anyway.
    pub(crate) fn is_before_round(&self, until: Instant) -> bool {
        until < self.round_at
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::watch::wakeup::Places;

    fn blind() -> FileEvents {
        let nowhere = PathBuf::new;
        FileEvents::shut(Places {
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
        schedule.note(&BTreeSet::from([Place::Tasks]), start);
        assert_eq!(schedule.next(), start + TENDING, "they were looked at just now");
        schedule.note(&BTreeSet::from([Place::Anywhere]), start);
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
        schedule.note(&BTreeSet::from([Place::Tasks]), now);
        assert_eq!(schedule.clocks_at(), now + CLOCKS);
        schedule.note(&BTreeSet::from([Place::Tasks]), now + long * 10);
        assert!(schedule.are_clocks_due(now + long * 10));

        schedule.handed_out(start, now);
        assert!(!schedule.may_hand_out(now) && schedule.may_hand_out(now + long * HAND_OUT_SHARE));
    }

    #[test]
    fn the_index_is_looked_at_when_git_was_at_work_and_not_all_the_time() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start);
        schedule.looked_at_index(start, start);
        assert!(!schedule.is_index_due(start + ROUND));
        for _ in 0..2 {
            schedule.note(&BTreeSet::from([Place::Repository]), start);
            assert!(
                !schedule.is_index_due(start) && schedule.is_index_due(start + LOOKING),
                "it was just now"
            );
        }
        schedule.looked_at_index(start, start + LOOKING);
        schedule.note(&BTreeSet::from([Place::Repository]), start + LOOKING);
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
        schedule.note(&BTreeSet::from([Place::Repository]), later);
        assert!(schedule.may_hand_out(later) && schedule.is_index_due(later));
    }
}
