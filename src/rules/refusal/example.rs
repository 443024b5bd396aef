//! Completions that would be accepted in place of a refused one.

use serde_json::{Value, json};

use super::Refusal;
use super::fix::meant;
use crate::domain::Outcome;

impl Refusal {
    /// Returns the outcome that was meant by a word that is none here, if that can be told.
    pub fn meant(&self) -> Option<&Outcome> {
        match self {
            Self::InvalidOutcome { given, valid, .. } => meant(given, valid),
            _ => None,
        }
    }

    /// Returns a completion, or a command, that would be accepted in this one's place.
    pub fn example(&self) -> Option<Value> {
        match self {
            Self::InvalidOutcome { given, valid, .. } => {
                meant(given, valid).or(valid.first()).map(sample)
            }
            Self::MissingOutcome { valid, .. } | Self::SkipNotAllowed { valid, .. } => {
                valid.first().map(sample)
            }
            // Whoever found faults is not to be led to pass over them.
            Self::RejectNotAllowed { valid, .. } => valid
                .iter()
                .find(|outcome| **outcome == Outcome::Blocked)
                .or(valid.first())
                .map(sample),
            Self::MissingSummary { outcome }
            | Self::MissingBlockers { outcome }
            | Self::EmptyBlockers { outcome } => Some(sample(outcome)),
            Self::InvalidOutputs { outcome, example, .. } => {
                let mut value = sample(outcome);
                value["outputs"] = (**example).clone();
                Some(value)
            }
            _ => None,
        }
    }
}

/// Returns a completion of that outcome which would be accepted.
fn sample(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Complete => json!({
            "outcome": "complete",
            "summary": "Added login with tokens; 14 tests, coverage 85%",
        }),
        Outcome::NeedsReview => json!({
            "outcome": "needs_review",
            "summary": "Two things to mend before this can go on",
            "blockers": ["No error handling when the token has expired", "Coverage is 65%, the target is 80%"],
        }),
        Outcome::Blocked => json!({
            "outcome": "blocked",
            "summary": "Cannot go on without the interface description",
            "blockers": ["The platform team has not sent the interface description"],
        }),
        Outcome::Skip => json!({
            "outcome": "skip",
            "summary": "The change touches no documented behaviour",
        }),
        Outcome::Failed => json!({
            "outcome": "failed",
            "summary": "The build broke three times; the log is in build.log",
        }),
        Outcome::Decision(decision) => json!({
            "outcome": decision.as_str(),
            "summary": "Looked at everything that the brief names",
        }),
    }
}
