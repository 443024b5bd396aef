//! Reads what an agent's program printed, in time that grows with the length of the text.

#[cfg(test)]
mod tests;

use super::agent_report::Report;
use super::claude::claude;
use super::codex::codex;
use super::gemini::gemini;
use super::opencode::opencode;
use crate::agents::runner::output::{RunOutput, plain};
use crate::domain::{Map, Reads};
use crate::files::json;

/// Reads what was printed, in that way.
pub(crate) fn read(reads: Reads, output: &RunOutput<'_>) -> Report {
    match reads {
        Reads::Claude => claude(output),
        Reads::Codex => codex(output),
        Reads::Gemini => gemini(output),
        Reads::Opencode => opencode(output),
        Reads::Json => one_object(output),
        Reads::Text => all_text(output),
    }
}

/// Returns the report of a program that prints its message and nothing else.
pub(crate) fn all_text(output: &RunOutput<'_>) -> Report {
    Report { text: plain(output.stdout), ..Report::default() }
}

/// Returns the report of a program that prints one JSON object and nothing else.
pub(crate) fn one_object(output: &RunOutput<'_>) -> Report {
    let mut report = all_text(output);
    let text = String::from_utf8_lossy(output.stdout);
    match json::read::<Map>(text.trim_start_matches('\u{feff}')) {
        Ok(map) => report.structured = Some(map),
        Err(_) if report.text.trim().is_empty() => {}
        Err(error) => {
            report.remarks.push(format!("what was printed is not one JSON object: {error}"));
        }
    }
    report
}
