//! What a run is asked, and what it can say.

use std::fmt;

use crate::agents::runner::report::trouble::Trouble;
use crate::domain::{AgentId, Map, Outcome, Outputs, Signal, Ticket};
use crate::files::completion_file::Answer;

/// What a run was asked, and how it can say it.
#[derive(Debug, Clone)]
pub(crate) struct Question<'a> {
    /// The visit that it works at.
    pub ticket: &'a Ticket,
    /// Who works.
    pub agent: &'a AgentId,
    /// The outcomes that the gate or the branch has.
    pub possible: Vec<Outcome>,
    /// Those of the gate's own outcomes that send the task back: they need no success to stand.
    pub back: Vec<Outcome>,
    /// What an answer without an outcome means; only where the gate neither rejects nor decides.
    pub unsaid: Option<&'a Outcome>,
    /// Where the verdict is read from in a text.
    pub signal: Option<&'a Signal>,
    /// What is handed on.
    pub outputs: &'a Outputs,
    /// What exit statuses mean.
    pub exit: &'a [(u8, Outcome)],
    /// The program as people know it, for sentences: `cargo test`.
    pub program: String,
    /// What it was told: a block of JSON that stands in it is none of the agent's.
    pub prompt: String,
}

impl Question<'_> {
    /// Returns whether the outcome needs a run without trouble.
    pub(crate) fn passes(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::NeedsReview | Outcome::Blocked | Outcome::Failed => false,
            Outcome::Complete | Outcome::Skip => true,
            Outcome::Decision(_) => !self.back.contains(outcome),
        }
    }

    pub(crate) fn named(&self, word: &str) -> Option<&Outcome> {
        self.possible.iter().find(|outcome| outcome.is_meant_by(word))
    }
}

/// What a run said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// It said how the work ended.
    Said(Box<Said>),
    /// It came to its end, and what it said does not count: what was looked for, what was there, and the fix.
    Bad { why: String },
    /// It said nothing and did not come to a good end; the kind tells what to do about it.
    Crashed(Trouble),
}

/// What a completion is made of, task and agent aside.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    /// Where it was found.
    pub source: Source,
    /// The outcome; absent where the engine reads it from the body, or takes what the gate takes silence for.
    pub outcome: Option<Outcome>,
    /// What was done.
    pub summary: Option<String>,
    /// What stands in the way, or must be mended.
    pub blockers: Option<Vec<String>>,
    /// What a reviewer adds.
    pub rejection_notes: Option<String>,
    /// What is handed on.
    pub outputs: Map,
    /// What is added for the record.
    pub metadata: Map,
    /// A text for the task's body, or the text that the engine reads the verdict from.
    pub body: Option<String>,
}

/// Where a verdict was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The file that `AOF_OUTPUT` names.
    OutputFile,
    /// An object in what was printed.
    Structured,
    /// The last message, for a gate's signal.
    Signal,
    /// The exit status.
    ExitStatus,
    /// What came of all attempts: nothing.
    Attempts,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutputFile => "the file `$AOF_OUTPUT`",
            Self::Structured => "the JSON object that was printed",
            Self::Signal => "the last message",
            Self::ExitStatus => "the exit status",
            Self::Attempts => "what came of all attempts",
        })
    }
}

impl Source {
    /// Returns the word for it in records.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::OutputFile => "file",
            Self::Structured => "structured",
            Self::Signal => "signal",
            Self::ExitStatus => "exit",
            Self::Attempts => "attempts",
        }
    }
}

impl Said {
    pub(crate) fn of(answer: Answer, outcome: Outcome, source: Source) -> Self {
        Self {
            source,
            outcome: Some(outcome),
            summary: answer.summary,
            blockers: answer.blockers,
            rejection_notes: answer.rejection_notes,
            outputs: answer.outputs,
            metadata: answer.metadata,
            body: answer.body,
        }
    }

    /// Returns what only says an outcome, or leaves it to its text.
    pub(crate) fn alone(source: Source, outcome: Option<Outcome>) -> Self {
        Self {
            source,
            outcome,
            summary: None,
            blockers: None,
            rejection_notes: None,
            outputs: Map::new(),
            metadata: Map::new(),
            body: None,
        }
    }
}
