//! Outcomes of completions, endings of visits, and the status of tasks.

use std::fmt;
use std::str::FromStr;

use super::words::words;
use super::{Decision, IdFault};

/// The outcome of a completion (spec 1, 2.3): a word that every workflow has, or a decision of the gate.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// The work of the gate is done.
    Complete,
    /// A reviewer found something that another agent must fix.
    NeedsReview,
    /// Something external prevents the work.
    Blocked,
    /// The gate does not apply to this task.
    Skip,
    /// The agent failed; valid only at gates with a route for it.
    Failed,
    /// A decision of the gate.
    Decision(Decision),
}

impl Outcome {
    /// The words that are built in.
    pub const BUILT_IN: &[Self] =
        &[Self::Complete, Self::NeedsReview, Self::Blocked, Self::Skip, Self::Failed];

    /// Returns the outcome's word in files and on the command line.
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

    /// Returns whether the outcome judges the work; the others mean that there is no result.
    pub fn judges(&self) -> bool {
        !matches!(self, Self::Blocked | Self::Skip | Self::Failed)
    }

    /// Returns whether a completion with this outcome must name blockers.
    pub fn needs_blockers(&self) -> bool {
        matches!(self, Self::NeedsReview | Self::Blocked)
    }

    /// Returns whether the word means this outcome: built-in words are exact, decisions match in any case.
    pub fn is_meant_by(&self, word: &str) -> bool {
        match self {
            Self::Decision(decision) => decision.as_str().eq_ignore_ascii_case(word),
            built_in => built_in.as_str() == word,
        }
    }
}

/// Returns the outcome that approves the work: `complete`, or the decision of that name.
pub fn approving(outcomes: &[Outcome]) -> Option<&Outcome> {
    first_meant(outcomes, &["complete", "approve", "approved"])
}

/// Returns the outcome that rejects the work: `needs_review`, or the decision of that name.
pub fn rejecting(outcomes: &[Outcome]) -> Option<&Outcome> {
    first_meant(outcomes, &["needs_review", "reject", "rejected"])
}

fn first_meant<'o>(outcomes: &'o [Outcome], words: &[&str]) -> Option<&'o Outcome> {
    words.iter().find_map(|word| outcomes.iter().find(|outcome| outcome.is_meant_by(word)))
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
    /// The state of a task.
    Status, "a status", {
        /// It waits for an agent.
        Ready = "ready",
        /// An agent has it.
        InProgress = "in_progress",
        /// It waits for a person, or for something external.
        Blocked = "blocked",
        /// It passed all its gates.
        Complete = "complete",
        /// It ended without reaching its goal.
        Failed = "failed",
        /// A person cancelled it.
        Cancelled = "cancelled",
    }
);

impl Status {
    /// Returns whether the task has ended.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Complete | Self::Failed | Self::Cancelled)
    }
}

/// The way a visit ended: the outcome of its completion, or an end from outside.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ending {
    /// A completion ended it.
    Completed(Outcome),
    /// The task was cancelled.
    Cancelled,
    /// The visit took too long, and another role steps in.
    Timeout,
    /// The gate left the workflow.
    Moved,
    /// A person with the right moved the task.
    Override,
    /// A finished task was reopened.
    Reopened,
}

impl Ending {
    /// The endings without a completion.
    const FROM_OUTSIDE: &[Self] =
        &[Self::Cancelled, Self::Timeout, Self::Moved, Self::Override, Self::Reopened];

    /// Returns the word in the history's `outcome`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Completed(outcome) => outcome.as_str(),
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
        match Self::FROM_OUTSIDE.iter().find(|ending| ending.as_str() == text) {
            Some(ending) => Ok(ending.clone()),
            None => text.parse().map(Self::Completed),
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
            assert_eq!(outcome.as_str().parse::<Ending>(), Ok(Ending::Completed(outcome.clone())));
        }
        for ending in Ending::FROM_OUTSIDE {
            assert_eq!(ending.as_str().parse::<Ending>().as_ref(), Ok(ending));
        }
        for text in ["", "_", "no way", "Complete", "MOVED", "a\n"] {
            assert!(text.parse::<Outcome>().is_err(), "{text:?} must not be a decision");
        }
        assert!(decision.is_meant_by("Needs_Fixes") && !Outcome::Complete.is_meant_by("COMPLETE"));
    }
}
