//! Why the watcher does nothing at the moment, and when it tries again.

use std::time::{Duration, Instant};

const SHORTEST_BACKOFF: Duration = Duration::from_millis(500);
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// What stops the watcher, if anything does.
#[derive(Default)]
pub(crate) struct Pause(Option<Standstill>);

struct Standstill {
    reason: String,
    /// How long an error is left alone, and until when; nothing where git is busy, or has no branch checked out.
    backoff: Option<(Duration, Instant)>,
}

impl Pause {
    /// Returns whether nothing is done.
    pub(crate) fn stands(&self) -> bool {
        self.0.is_some()
    }

    /// Returns until when nothing is tried, if that is in the future.
    pub(crate) fn lasts(&self, now: Instant) -> Option<Instant> {
        let (_, until) = self.0.as_ref()?.backoff?;
        (now < until).then_some(until)
    }

    /// Has the next try made at once.
    pub(crate) fn cut_short(&mut self, now: Instant) {
        if let Some(Standstill { backoff: Some((_, until)), .. }) = &mut self.0 {
            *until = now;
        }
    }

    /// Pauses; returns whether the reason is new.
    pub(crate) fn pause(&mut self, reason: &str) -> bool {
        let known = self.0.as_ref().filter(|known| known.backoff.is_none());
        let is_new = known.is_none_or(|known| known.reason != reason);
        self.0 = Some(Standstill { reason: reason.to_owned(), backoff: None });
        is_new
    }

    /// Ends a pause; returns whether there was one. An error remains until a try succeeds.
    pub(crate) fn end_pause(&mut self) -> bool {
        self.0.take_if(|known| known.backoff.is_none()).is_some()
    }

    /// Ends it; returns whether anything stopped the watcher.
    pub(crate) fn end(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// Backs off after an error, longer each time in a row; returns until when, and whether the error is new.
    pub(crate) fn back_off(&mut self, reason: String, now: Instant) -> (Instant, bool) {
        let known = self.0.as_ref().and_then(|known| Some((&known.reason, known.backoff?.0)));
        let is_new = known.is_none_or(|(before, _)| *before != reason);
        let backoff = known.map_or(SHORTEST_BACKOFF, |(_, last)| (last * 2).min(LONGEST_BACKOFF));
        let until = now + backoff;
        self.0 = Some(Standstill { reason, backoff: Some((backoff, until)) });
        (until, is_new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_tried_again_ever_later_and_at_once_where_something_has_changed() {
        let now = Instant::now();
        let mut pause = Pause::default();
        let meet = |pause: &mut Pause, text: &str| pause.back_off(text.to_owned(), now);
        assert_eq!(meet(&mut pause, "full"), (now + SHORTEST_BACKOFF, true));
        assert_eq!(meet(&mut pause, "full"), (now + SHORTEST_BACKOFF * 2, false));
        assert!(meet(&mut pause, "locked").1);
        for _ in 0..10 {
            meet(&mut pause, "locked");
        }
        assert_eq!(pause.lasts(now), Some(now + LONGEST_BACKOFF));
        assert_eq!(pause.lasts(now + LONGEST_BACKOFF), None);
        pause.cut_short(now);
        assert_eq!(pause.lasts(now), None);
        assert!(!pause.end_pause() && pause.end() && !pause.stands());
        assert_eq!(meet(&mut pause, "locked"), (now + SHORTEST_BACKOFF, true));
    }

    #[test]
    fn a_pause_is_news_once_for_each_reason() {
        let mut pause = Pause::default();
        assert!(pause.pause("a merge") && !pause.pause("a merge") && pause.pause("a rebase"));
        assert_eq!(pause.lasts(Instant::now()), None);
        assert!(pause.end_pause() && !pause.end_pause() && pause.pause("a rebase"));
    }
}
