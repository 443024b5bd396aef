//! `run.json`: what is known of one attempt, while it goes on and afterwards. Its fields are shown as JSON.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::{AgentId, CompletionId, Ticket};
use crate::system::process::Group;

/// What is known of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunRecord {
    /// What the program is told to be: no two attempts share one.
    pub run: String,
    pub ticket: Ticket,
    pub agent: AgentId,
    /// Which attempt of the visit it is, from 1.
    pub attempt: u32,
    pub started: Timestamp,
    /// The words that the program was started with.
    pub command: Vec<String>,
    /// By what it is known whether it lives; absent before it was started.
    pub group: Option<Group>,
    /// What came of it; absent while it goes on, and when whoever started it was killed.
    pub end: Option<RunEnd>,
}

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunEnd {
    pub at: Timestamp,
    pub how: RunEnding,
    /// Its exit status, if it came to that by itself.
    pub status: Option<i32>,
    /// What went wrong, as a sentence.
    pub reason: Option<String>,
    pub transcript: Option<TranscriptMark>,
    pub told: AgentReport,
    pub verdict: Option<Ruling>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunEnding {
    Verdict,
    /// The program ended badly, and said nothing that counts.
    Crash,
    /// Its time was over.
    Timeout,
    /// It was silent for too long.
    Idle,
    /// It ended well, and what it said is no verdict.
    BadVerdict,
    /// It could not begin to work.
    Unavailable,
    /// A person stopped it.
    Stopped,
    /// The task had moved on by somebody else's doing.
    Overtaken,
    /// Whoever ran it was killed: nobody knows.
    Lost,
}

/// By what a transcript is recognised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TranscriptMark {
    pub sha256: String,
    pub bytes: u64,
    /// How many of those that were printed it has not.
    pub left_out: u64,
}

/// What an agent said of its own work, as far as its program tells.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentReport {
    /// Its session, by which it can be asked to go on.
    pub session: Option<String>,
    pub model: Option<String>,
    pub cost_usd: Option<f64>,
    pub tokens: Option<TokenCounts>,
}

/// How many tokens a model read and wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenCounts {
    pub input: u64,
    pub output: u64,
}

/// A verdict, and what it came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ruling {
    pub source: String,
    pub outcome: String,
    /// The completion that it was made into, or that the agent made itself.
    pub completion: CompletionId,
}

impl RunRecord {
    /// Returns whether it goes on: it has no end, and its program lives.
    pub(crate) fn is_alive(&self) -> bool {
        self.end.is_none() && self.group.as_ref().is_some_and(Group::is_alive)
    }
}
