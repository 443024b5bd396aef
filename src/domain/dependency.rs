//! A task that another one depends on and that will not be complete: the reason why that one is blocked, in words that are
//! known again.

use std::fmt;

use super::words::words;
use super::{Status, TaskId};

/// The longest reason that is repeated, in characters.
const LONGEST: usize = 200;

/// A dependency that has ended without being complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostDependency {
    task: TaskId,
    how: Loss,
    why: String,
}

words!(
    /// How a task ended that is not complete.
    Loss, "a loss", {
        /// It has failed.
        Failed = "has failed",
        /// It was called off.
        Cancelled = "was cancelled",
    }
);

impl LostDependency {
    /// Returns the loss of a task in that state, if it is one. `why` is what was said of it; its first line counts.
    pub fn of(task: TaskId, status: Status, why: &str) -> Option<Self> {
        let how = match status {
            Status::Failed => Loss::Failed,
            Status::Cancelled => Loss::Cancelled,
            Status::Ready | Status::InProgress | Status::Blocked | Status::Complete => return None,
        };
        let line = why.trim().lines().next().unwrap_or_default().trim();
        let mut why: String = line.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
        if why.len() < line.len() && line.chars().count() > LONGEST {
            why.push_str("...");
        }
        Some(Self { task, how, why })
    }

    /// Returns the loss that a blocker tells of, if it does.
    pub fn read(blocker: &str) -> Option<Self> {
        let (task, rest) = blocker.strip_prefix("Depends on ")?.split_once(", which ")?;
        let (how, why) = rest.split_once(": ").unwrap_or((rest, ""));
        let lost = Self { task: task.parse().ok()?, how: how.parse().ok()?, why: why.to_owned() };
        (lost.to_string() == blocker).then_some(lost)
    }

    /// Returns the task that is lost.
    pub fn task(&self) -> &TaskId {
        &self.task
    }
}

impl fmt::Display for LostDependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Depends on {}, which {}", self.task, self.how)?;
        if self.why.is_empty() { Ok(()) } else { write!(f, ": {}", self.why) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_known_again_and_nothing_else() {
        let lost = |status, why: &str| LostDependency::of("AOF-abc".parse().unwrap(), status, why);
        for (status, why, text) in [
            (Status::Failed, "No: way \n more", "Depends on AOF-abc, which has failed: No: way"),
            (Status::Cancelled, " ", "Depends on AOF-abc, which was cancelled"),
            (Status::Failed, "a\tb", "Depends on AOF-abc, which has failed: ab"),
        ] {
            let own = lost(status, why).unwrap();
            assert_eq!(own.to_string(), text);
            assert_eq!(LostDependency::read(text), Some(own));
        }
        assert!(lost(Status::Failed, &"x".repeat(300)).unwrap().to_string().ends_with("xxx..."));
        assert_eq!(lost(Status::Complete, "done"), None);
        for text in [
            "Depends on me",
            "Depends on AOF-abc, which sleeps",
            "depends on AOF-abc, which has failed",
            "Depends on AOF-abc, which has failed: ",
        ] {
            assert_eq!(LostDependency::read(text), None, "{text}");
        }
    }
}
