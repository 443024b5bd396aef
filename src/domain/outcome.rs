//! What an agent says of its work, how a visit ended, and where a task stands.

use std::fmt;
use std::str::FromStr;

use super::words::words;
use super::{Decision, IdFault};

/// What a completion says (spec 1, 2.3): a word that every workflow has, or a decision of the gate's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// The work of the gate is done.
    Complete,
    /// A reviewer found what somebody else must mend.
    NeedsReview,
    /// Something outside stands in the way.
    Blocked,
    /// The gate does not apply to this task.
    Skip,
    /// The agent failed; only where the gate says what that leads to.
    Failed,
    /// One of the gate's own.
    Decision(Decision),
}

impl Outcome {
    /// The words that are built in.
    pub const BUILT_IN: &[Self] =
        &[Self::Complete, Self::NeedsReview, Self::Blocked, Self::Skip, Self::Failed];

    /// Returns the word that stands for it in files and on the command line.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Complete => "complete",
            Self::NeedsReview => "needs_review",
            Self::Blocked => "blocked",
            Self::Skip => "skip",
            Self::Failed => "failed",
            Self::Decision(decision) => decision.as_str(),
        }
    }

    /// Returns whether it says how the work went; the others say that there is no result.
    pub fn judges(&self) -> bool {
        !matches!(self, Self::Blocked | Self::Skip | Self::Failed)
    }

    /// Returns whether the word means this outcome: built-in words are exact, decisions have no case.
    pub fn is_meant_by(&self, word: &str) -> bool {
        match self {
            Self::Decision(decision) => decision.as_str().eq_ignore_ascii_case(word),
            built_in => built_in.as_str() == word,
        }
    }
}

impl FromStr for Outcome {
    type Err = IdFault;

    fn from_str(text: &str) -> Result<Self, IdFault> {
        match Self::BUILT_IN.iter().find(|outcome| outcome.as_str() == text) {
            Some(outcome) => Ok(outcome.clone()),
            None => text.parse().map(Self::Decision),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ending {
    /// A completion said so.
    Said(Outcome),
    /// The task was called off.
    Cancelled,
    /// It took too long, and another role steps in.
    Timeout,
    /// The gate left the workflow.
    Moved,
    /// A person with the right moved the task.
    Override,
    /// A finished task was taken up again.
    Reopened,
}

impl Ending {
    /// Returns the word that stands in the history's `outcome`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Said(outcome) => outcome.as_str(),
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::Moved => "moved",
            Self::Override => "override",
            Self::Reopened => "reopened",
        }
    }
}

impl FromStr for Ending {
    type Err = IdFault;

    fn from_str(text: &str) -> Result<Self, IdFault> {
        match text {
            "cancelled" => Ok(Self::Cancelled),
            "timeout" => Ok(Self::Timeout),
            "moved" => Ok(Self::Moved),
            "override" => Ok(Self::Override),
            "reopened" => Ok(Self::Reopened),
            _ => text.parse().map(Self::Said),
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
        let decision = Outcome::Decision("needs_fixes".parse().unwrap());
        for outcome in Outcome::BUILT_IN.iter().chain([&decision]) {
            assert_eq!(outcome.as_str().parse::<Outcome>().as_ref(), Ok(outcome));
            assert_eq!(outcome.as_str().parse::<Ending>(), Ok(Ending::Said(outcome.clone())));
        }
        for ending in
            [Ending::Cancelled, Ending::Timeout, Ending::Moved, Ending::Override, Ending::Reopened]
        {
            assert_eq!(ending.as_str().parse::<Ending>(), Ok(ending));
        }
        for text in ["", "_", "no way", "Complete", "MOVED", "a\n"] {
            assert!(text.parse::<Outcome>().is_err(), "{text:?} must not be a decision");
        }
        assert!(decision.is_meant_by("Needs_Fixes") && !Outcome::Complete.is_meant_by("COMPLETE"));
    }
}
