//! What is to be said of the rules in the worktree, shown with the lines that are meant.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::output::{GREEN, RED, styled};
use crate::cli::session::Session;
use crate::domain::Severity;
use crate::files::diagnostic::diagnostic::{Diagnostic, Paint, render_all};

/// The exit code of invalid rules.
const INVALID: u8 = 6;

/// Shows the diagnostics, or that all is well, and returns the exit code.
pub(crate) fn show(session: &Session, diagnostics: &[Diagnostic], well: &str) -> ExitCode {
    let count =
        |severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let errors = count(Severity::Error);
    if session.output.is_json() {
        let list: Vec<Value> = diagnostics.iter().map(Diagnostic::to_value).collect();
        session.output.data(json!({"valid": errors == 0, "diagnostics": list}));
    } else {
        if !diagnostics.is_empty() {
            session.output.print(&format!("{}\n", render_all(diagnostics, Paint::Colored)));
        }
        let counts = [
            (errors, "error"),
            (count(Severity::Warning), "warning"),
            (count(Severity::Note), "note"),
        ];
        let counts: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}{}", if *count == 1 { "" } else { "s" }))
            .collect();
        let counts = counts.join(", ");
        match (errors, diagnostics) {
            (0, []) => session.output.line(format!("{}: {well}", styled(GREEN, "valid"))),
            (0, _) => session.output.line(format!("{}: {well} ({counts})", styled(GREEN, "valid"))),
            _ => session.output.line(format!("{}: {counts}", styled(RED, "invalid"))),
        }
    }
    if errors == 0 { ExitCode::SUCCESS } else { ExitCode::from(INVALID) }
}
