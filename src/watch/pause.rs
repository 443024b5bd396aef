//! Why the watcher does nothing at the moment, and when it tries again.

use std::time::{Duration, Instant};

const SHORTEST_BACKOFF: Duration = Duration::from_millis(500);
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// What stops the watcher, if anything does.
#[derive(Default)]
pub(crate) struct Pause(Option<Cause>);

enum Cause {
    /// Git is busy, or has no branch checked out.
    Paused(String),
    /// An error, which is tried again later.
    Trouble { text: String, backoff: Duration, until: Instant },
}

impl Pause {
    /// Returns whether nothing is done.
    pub(crate) fn stands(&self) -> bool {
        self.0.is_some()
    }

    /// Returns until when nothing is tried, if that is in the future.
    pub(crate) fn lasts(&self, now: Instant) -> Option<Instant> {
        match self.0 {
            Some(Cause::Trouble { until, .. }) if now < until => Some(until),
            _ => None,
        }
    }

    /// Has the next try made at once.
    pub(crate) fn cut_short(&mut self, now: Instant) {
        if let Some(Cause::Trouble { until, .. }) = &mut self.0 {
            *until = now;
        }
    }

    /// Pauses; returns whether the reason is new.
    pub(crate) fn pause(&mut self, reason: &str) -> bool {
        let is_news = !matches!(&self.0, Some(Cause::Paused(before)) if before == reason);
        if is_news {
            self.0 = Some(Cause::Paused(reason.to_owned()));
        }
        is_news
    }

    /// Ends a pause; returns whether there was one. An error remains until a try succeeds.
    pub(crate) fn end_pause(&mut self) -> bool {
        matches!(self.0, Some(Cause::Paused(_))) && self.end()
    }

    /// Ends it; returns whether anything stopped the watcher.
    pub(crate) fn end(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// Returns whether an error differs from the last one.
    pub(crate) fn is_news(&self, trouble: &str) -> bool {
        !matches!(&self.0, Some(Cause::Trouble { text, .. }) if text == trouble)
    }

    /// Backs off after an error, longer each time in a row; returns until when.
    pub(crate) fn meet(&mut self, text: String, now: Instant) -> Instant {
        let backoff = match &self.0 {
            Some(Cause::Trouble { backoff, .. }) => (*backoff * 2).min(LONGEST_BACKOFF),
            _ => SHORTEST_BACKOFF,
        };
        let until = now + backoff;
        self.0 = Some(Cause::Trouble { text, backoff, until });
        until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_tried_again_ever_later_and_at_once_where_something_has_changed() {
        let now = Instant::now();
        let mut pause = Pause::default();
        assert!(pause.is_news("full") && !pause.end());
        assert_eq!(pause.meet("full".to_owned(), now), now + SHORTEST_BACKOFF);
        assert!(pause.stands() && !pause.is_news("full") && pause.is_news("locked"));
        assert_eq!(pause.meet("locked".to_owned(), now), now + SHORTEST_BACKOFF * 2);
        for _ in 0..10 {
            pause.meet("locked".to_owned(), now);
        }
        assert_eq!(pause.lasts(now), Some(now + LONGEST_BACKOFF));
        assert_eq!(pause.lasts(now + LONGEST_BACKOFF), None);
        pause.cut_short(now);
        assert_eq!(pause.lasts(now), None);
        assert!(!pause.end_pause() && pause.end() && !pause.stands());
        assert_eq!(pause.meet("locked".to_owned(), now), now + SHORTEST_BACKOFF);
    }

    #[test]
    fn a_pause_is_news_once_for_each_reason() {
        let mut pause = Pause::default();
        assert!(pause.pause("a merge") && !pause.pause("a merge") && pause.pause("a rebase"));
        assert_eq!(pause.lasts(Instant::now()), None);
        assert!(pause.end_pause() && !pause.end_pause() && pause.pause("a rebase"));
    }
}
