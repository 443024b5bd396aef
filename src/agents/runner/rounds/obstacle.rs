//! What keeps everybody from beginning anything, and passes: it is told once, and tried again, a remote that cannot be spoken to ever less
//! often.

use std::time::{Duration, Instant};

use super::work::TICK;
use crate::git::AuditError;
use crate::project::error::error::OpsError;

/// So long at least a remote is left alone that could not be spoken to, and so long at most.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);

/// What was in the way last.
#[derive(Debug)]
pub(crate) struct Obstacle {
    text: String,
    met: Instant,
    pause: Duration,
}

impl Obstacle {
    /// Returns what is in the way now, where that may have been there before.
    pub(crate) fn met(before: Option<&Self>, error: &OpsError, text: &str, now: Instant) -> Self {
        let is_remote = matches!(
            error,
            OpsError::Remote(_)
                | OpsError::NotConfirmed { .. }
                | OpsError::Audit(AuditError::NotStored { .. })
        );
        let pause = match before {
            _ if !is_remote => TICK,
            Some(before) => (before.pause * 2).clamp(SHORTEST, LONGEST),
            None => SHORTEST,
        };
        Self { text: text.to_owned(), met: now, pause }
    }

    /// Returns whether it has been told.
    pub(crate) fn is_told(before: Option<&Self>, text: &str) -> bool {
        before.is_some_and(|before| before.text == text)
    }

    /// Returns whether it is worth another try.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.met) >= self.pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::error::error::OpsError;

    #[test]
    fn a_remote_is_asked_ever_less_often_and_a_lock_soon_again() {
        let remote = OpsError::NotConfirmed {
            code: "offline",
            problem: "away".to_owned(),
            fix: "wait".to_owned(),
        };
        let mut now = Instant::now();
        let mut met = Obstacle::met(None, &remote, "away", now);
        let mut pauses = Vec::new();
        for _ in 0..8 {
            pauses.push(met.pause.as_secs());
            assert!(!met.is_over(now) && met.is_over(now + met.pause));
            now += met.pause;
            met = Obstacle::met(Some(&met), &remote, "away", now);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert!(Obstacle::is_told(Some(&met), "away") && !Obstacle::is_told(Some(&met), "closed"));
        assert!(!Obstacle::is_told(None, "away"));
        let busy = OpsError::Restless { id: "AOF-abc".parse().unwrap() };
        let met = Obstacle::met(Some(&met), &busy, "busy", now);
        assert!(met.is_over(now + TICK));
    }
}
