//! What an agent's program printed, as a report: one file a format. Pure, and in time that grows with the length of the text.
//!
//! What a tool reports as an error is trouble; its kind comes from what is reported as data (a status, a type), and from words
//! only where there is nothing else, and then only from the words of the error, never from what the agent wrote.

#[cfg(test)]
mod tests;

use super::claude::claude;
use super::codex::codex;
use super::gemini::gemini;
use super::object::json;
use super::opencode::opencode;
use super::text::text;
use super::trouble::Trouble;

use crate::agents::runner::attempt::printed::Printed;
use crate::domain::{Map, Reads};

/// What an agent's program reported.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Report {
    /// The agent's last message; empty where there is none. Never the text of an error.
    pub text: String,
    /// The object that the tool hands over apart from the text.
    pub structured: Option<Map>,
    /// What the session can be resumed or looked up by.
    pub session: Option<String>,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// How many tokens went through.
    pub tokens: Option<Tokens>,
    /// The model, where the tool names it.
    pub model: Option<String>,
    /// What the tool says went wrong.
    pub trouble: Option<Trouble>,
    /// What is worth telling and decides nothing: tools that were denied, an output that could not be read.
    pub remarks: Vec<String>,
}

/// How many tokens a run took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tokens {
    /// Read, what came from a cache included.
    pub input: u64,
    /// Written.
    pub output: u64,
}

/// Reads what was printed, in that way.
pub(crate) fn read(reads: Reads, printed: &Printed<'_>) -> Report {
    match reads {
        Reads::Claude => claude(printed),
        Reads::Codex => codex(printed),
        Reads::Gemini => gemini(printed),
        Reads::Opencode => opencode(printed),
        Reads::Json => json(printed),
        Reads::Text => text(printed),
    }
}
