//! What a run is asked, and what it answers.

use std::fmt;

use crate::domain::{AgentId, Outcome, Outputs, Signal, Ticket};
use crate::files::completion_file::Answer;

/// What a run was asked, and how it can say it.
#[derive(Debug, Clone)]
pub(crate) struct RunQuestion<'a> {
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
    /// The prompt: a block of JSON that stands in it is not the agent's answer.
    pub prompt: String,
}

impl RunQuestion<'_> {
    /// Returns whether the outcome passes the gate: it needs a run without trouble.
    pub(crate) fn passes(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::NeedsReview | Outcome::Blocked | Outcome::Failed => false,
            Outcome::Complete | Outcome::Skip => true,
            Outcome::Decision(_) => !self.back.contains(outcome),
        }
    }
}

/// What a run answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunAnswer {
    /// Where it was found.
    pub source: AnswerSource,
    /// Absent where the engine reads it from the body, or takes what the gate takes silence for.
    pub outcome: Option<Outcome>,
    /// The rest of it. Its own outcome, task and agent were compared with the question.
    pub fields: Answer,
}

/// Where an answer was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerSource {
    /// The file that `AOF_OUTPUT` names.
    OutputFile,
    /// An object in what was printed.
    Structured,
    /// The last message, for a gate's signal.
    Signal,
    ExitStatus,
    /// No attempt had an answer that counts.
    Attempts,
}

impl AnswerSource {
    /// Returns the word for it in records, and its name in sentences.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::OutputFile => ("file", "the file `$AOF_OUTPUT`"),
            Self::Structured => ("structured", "the JSON object that was printed"),
            Self::Signal => ("signal", "the last message"),
            Self::ExitStatus => ("exit", "the exit status"),
            Self::Attempts => ("attempts", "what came of all attempts"),
        }
    }

    /// Returns the word for it in records.
    pub(crate) fn word(self) -> &'static str {
        self.names().0
    }
}

impl fmt::Display for AnswerSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names().1)
    }
}
