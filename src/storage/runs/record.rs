//! The record of an attempt: its program, its session, and its end.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::domain::{AgentId, CompletionId, Ticket};
use crate::system::process::ProcessGroup;

/// The record of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunRecord {
    /// The unique id of the run, which the program gets.
    pub run: String,
    pub ticket: Ticket,
    pub agent: AgentId,
    /// The number of the attempt in its visit, from 1.
    pub attempt: u32,
    pub started: Timestamp,
    /// The command line of the program.
    pub command: Vec<String>,
    /// The beginning of its session, if its program can continue one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionStart>,
    /// Its process group, which shows whether it runs; `None` before it is started.
    pub group: Option<ProcessGroup>,
    /// Its end; `None` while it runs, and if its runner was killed.
    pub end: Option<RunEnd>,
}

/// The beginning of an attempt's session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum SessionStart {
    New,
    /// The agent's session at the earlier visit goes on.
    Resumed {
        id: String,
        /// The cost of the session so far, if its program reports it again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
        /// The tokens of the session so far, if its program reports them again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<TokenCounts>,
    },
    /// That session cannot go on, so a new one begins.
    Lost {
        why: String,
    },
}

impl SessionStart {
    /// Returns the fact that an entry keeps.
    pub(crate) fn fact(&self) -> Value {
        match self {
            Self::New => json!({"how": "new"}),
            Self::Resumed { id, .. } => json!({"how": "resumed", "id": id}),
            Self::Lost { why } => json!({"how": "lost", "why": why}),
        }
    }
}

/// The end of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunEnd {
    pub at: Timestamp,
    pub how: RunEnding,
    /// Its exit status, if it was not killed.
    pub status: Option<i32>,
    /// The failure, as a sentence.
    pub reason: Option<String>,
    pub transcript: Option<TranscriptMark>,
    #[serde(rename = "told")]
    pub agent_report: AgentReport,
    pub verdict: Option<Ruling>,
    /// The time when its usage limit ends, as the program reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl RunEnd {
    /// Returns the end of an attempt without further details.
    pub(crate) fn new(at: Timestamp, how: RunEnding, reason: Option<String>) -> Self {
        let (agent_report, until) = (AgentReport::default(), None);
        Self { at, how, status: None, reason, transcript: None, agent_report, verdict: None, until }
    }
}

/// The way in which an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunEnding {
    Verdict,
    /// The program failed, without a valid verdict.
    Crash,
    /// The time limit was reached.
    Timeout,
    /// The program printed nothing for too long.
    Idle,
    /// The program succeeded, without a valid verdict.
    BadVerdict,
    /// The program could not be started.
    Unavailable,
    /// The program is at its usage limit.
    Limited,
    /// The program does not know the session that was to go on.
    NoSession,
    /// A person stopped it.
    Stopped,
    /// Another agent or person moved the task on during the run.
    Overtaken,
    /// Its runner was killed, so its end is unknown.
    Lost,
    /// The program is to be started again later.
    Waits,
}

/// The data that identify a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TranscriptMark {
    pub sha256: String,
    pub bytes: u64,
    /// The number of printed bytes that are left out.
    pub left_out: u64,
}

/// The report of an agent's program about its work.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentReport {
    /// Its session, which can be resumed.
    pub session: Option<String>,
    pub model: Option<String>,
    pub cost_usd: Option<f64>,
    pub tokens: Option<TokenCounts>,
}

/// The numbers of tokens that a model read and wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct TokenCounts {
    pub input: u64,
    pub output: u64,
}

impl TokenCounts {
    pub(crate) fn plus(self, more: Self) -> Self {
        Self {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
        }
    }
}

/// The reason why an attempt without an end failed.
pub(crate) const RUNNER_KILLED: &str = "its runner was killed";

/// A verdict, and its completion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ruling {
    pub source: String,
    pub outcome: String,
    /// The completion that was made from it, or by the agent itself.
    pub completion: CompletionId,
}

impl RunRecord {
    /// Returns whether it is running: it has no end, and its program lives.
    pub(crate) fn is_alive(&self) -> bool {
        self.end.is_none() && self.group.as_ref().is_some_and(ProcessGroup::is_alive)
    }

    /// Returns the other agents that failed at its visit, by the records of its task.
    pub(crate) fn stalled_before<'r>(&self, records: &'r [Self]) -> BTreeSet<&'r AgentId> {
        let here = records.iter().filter(|other| other.ticket == self.ticket && other.has_failed());
        here.map(|other| &other.agent).filter(|agent| **agent != self.agent).collect()
    }

    /// Returns how it ended; `None` while it runs.
    pub(crate) fn ending(&self) -> Option<RunEnding> {
        self.end.as_ref().map(|end| end.how)
    }

    /// Returns whether the attempt itself failed, and so counts against the limit of attempts.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(
            self.ending(),
            Some(RunEnding::Crash | RunEnding::Timeout | RunEnding::Idle | RunEnding::BadVerdict)
        )
    }

    /// Corrects the record of an ended attempt that continued a session: what the session cost before does not count again, and an error
    /// that names the session means that the program does not know it.
    pub(crate) fn settle_session(&mut self) {
        let reason = self.failure_reason();
        let (Some(SessionStart::Resumed { id, cost_usd, tokens }), Some(end)) =
            (&self.session, &mut self.end)
        else {
            return;
        };
        let report = &mut end.agent_report;
        if let (Some(all), Some(before)) = (&mut report.cost_usd, cost_usd)
            && *all >= *before
        {
            *all -= before;
        }
        if let (Some(all), Some(before)) = (&mut report.tokens, tokens)
            && all.input >= before.input
            && all.output >= before.output
        {
            (all.input, all.output) = (all.input - before.input, all.output - before.output);
        }
        let is_error =
            matches!(end.how, RunEnding::Crash | RunEnding::BadVerdict | RunEnding::Unavailable);
        if is_error && reason.contains(id.as_str()) {
            end.how = RunEnding::NoSession;
        }
    }

    /// Returns the reason why the attempt failed; empty while it runs.
    pub(crate) fn failure_reason(&self) -> String {
        let Some(end) = &self.end else { return String::new() };
        let usual =
            if end.how == RunEnding::Stopped { "somebody stopped it" } else { RUNNER_KILLED };
        end.reason.clone().unwrap_or_else(|| usual.to_owned())
    }
}
