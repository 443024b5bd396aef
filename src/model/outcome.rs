//! What an agent says of its work, how a visit ended, and where a task stands.

use std::fmt;
use std::str::FromStr;

use super::words::{Unknown, words};

words!(
    /// What a completion says (spec 1, 2.3).
    Outcome, "an outcome", {
        /// The work of the gate is done.
        Complete = "complete",
        /// A reviewer found what somebody else must mend.
        NeedsReview = "needs_review",
        /// Something outside stands in the way.
        Blocked = "blocked",
        /// The gate does not apply to this task.
        Skip = "skip",
    }
);

words!(
    /// Where a task stands.
    Status, "a status", {
        /// It waits for an agent.
        Ready = "ready",
        /// An agent has it.
        InProgress = "in_progress",
        /// It waits for something outside, or for a person.
        Blocked = "blocked",
        /// It went through all its gates.
        Complete = "complete",
        /// It ended without reaching its goal.
        Failed = "failed",
        /// A person called it off.
        Cancelled = "cancelled",
    }
);

impl Status {
    /// Returns whether the task has ended.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Complete | Self::Failed | Self::Cancelled)
    }
}

/// How a visit ended: what its completion said, or what ended it from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// A completion said so.
    Said(Outcome),
    /// The task was called off.
    Cancelled,
    /// The gate left the workflow.
    Moved,
    /// A person with the right moved the task.
    Override,
    /// A finished task was taken up again.
    Reopened,
}

impl Ending {
    /// Returns the word that stands in the history's `outcome`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Said(outcome) => outcome.as_str(),
            Self::Cancelled => "cancelled",
            Self::Moved => "moved",
            Self::Override => "override",
            Self::Reopened => "reopened",
        }
    }
}

impl FromStr for Ending {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        match text {
            "cancelled" => Ok(Self::Cancelled),
            "moved" => Ok(Self::Moved),
            "override" => Ok(Self::Override),
            "reopened" => Ok(Self::Reopened),
            _ => text.parse().map(Self::Said).map_err(|mut unknown: Unknown| {
                unknown.known.extend(["cancelled", "moved", "override", "reopened"]);
                unknown
            }),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for outcome in Outcome::ALL {
            assert_eq!(outcome.as_str().parse::<Outcome>().as_ref(), Ok(outcome));
            assert_eq!(outcome.as_str().parse::<Ending>(), Ok(Ending::Said(*outcome)));
        }
        for ending in [Ending::Cancelled, Ending::Moved, Ending::Override, Ending::Reopened] {
            assert_eq!(ending.as_str().parse::<Ending>(), Ok(ending));
        }
        assert_eq!(
            "done".parse::<Outcome>().unwrap_err().to_string(),
            "`done` is not an outcome; known: complete, needs_review, blocked, skip"
        );
    }
}
