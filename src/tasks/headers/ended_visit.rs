//! An ended visit, as lists and counts keep it.

use serde::{Deserialize, Serialize};

use super::interned::Word;
use crate::domain::{Ending, Join, Outcome, Verdict, Visit};

/// An ended visit, as far as counting goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EndedVisit {
    /// The gate, or the branch of one.
    pub gate: Word,
    /// Whose work it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Word>,
    /// Who ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Word>,
    /// When it began, in seconds since 1970.
    pub entered: i64,
    /// How long, in seconds; none where the clock ran backwards.
    pub seconds: u64,
    /// Whether the file says that it ended before it began: the clocks of two machines differ.
    #[serde(default, skip_serializing_if = "is_false")]
    pub skewed: bool,
    /// How it ended: a word of `Ending`.
    pub ended: Word,
    /// Whether a completion ended it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub completed: bool,
    /// Whether it ended in a rejection.
    #[serde(default, skip_serializing_if = "is_false")]
    pub rejected: bool,
    /// Where the task went, as files call it; nothing while other branches of the fork are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Word>,
    /// Gates that were passed over on the way.
    #[serde(default, skip_serializing_if = "is_none")]
    pub skipped: Box<[Word]>,
    /// How often the task has now been sent back there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<u32>,
    /// What the fork came to by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<Box<JoinedFork>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_none(words: &[Word]) -> bool {
    words.is_empty()
}

/// A fork that was closed, as far as counting goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JoinedFork {
    /// The fork.
    pub fork: Word,
    /// Whether it rejected.
    pub failed: bool,
}

impl EndedVisit {
    /// Returns what is kept of an entry.
    pub(crate) fn of(visit: &Visit) -> Self {
        Self {
            gate: visit.station().to_string().into(),
            role: visit.role.as_ref().map(|role| role.as_str().into()),
            agent: visit.agent.as_ref().map(|agent| agent.as_str().into()),
            entered: visit.entered.as_second(),
            seconds: visit.duration(),
            skewed: visit.exited < visit.entered,
            ended: visit.outcome.as_str().into(),
            completed: matches!(visit.outcome, Ending::Said(_)),
            rejected: is_rejection(visit),
            to: visit.to.as_ref().map(|to| to.to_string().into()),
            skipped: visit.skipped.iter().map(|gate| gate.as_str().into()).collect(),
            retry: visit.retry,
            join: visit.join.map(|join| {
                Box::new(JoinedFork {
                    fork: visit.gate.as_str().into(),
                    failed: join == Join::Failed,
                })
            }),
        }
    }
}

/// Returns whether the entry sends the task back: by `needs_review`, by a decision that leads back, or as one branch of a fork.
fn is_rejection(visit: &Visit) -> bool {
    let sends_back = visit.retry.is_some() && visit.to.is_some();
    match (&visit.outcome, visit.verdict) {
        (_, Some(verdict)) => verdict == Verdict::Reject,
        (Ending::Said(outcome), None) => *outcome == Outcome::NeedsReview || sends_back,
        _ => false,
    }
}
