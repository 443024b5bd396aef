//! What is wrong with files: diagnostics of rules, and files that cannot be read as tasks.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::{Session, counted, green, red};
use crate::domain::Severity;
use crate::files::diagnostic::{Diagnostic, Paint, render_all};
use crate::files::printable::inert;
use crate::tasks::headers::listing::{Unreadable, unreadable_value};

/// The exit code of invalid rules, and of a list in which files are missing.
pub(crate) const INVALID: u8 = 6;
/// How many unreadable files are named without `-v`.
const FEW: usize = 20;

/// Shows the diagnostics of rules, or that they are valid, and returns the exit code.
pub(crate) fn show_diagnostics(
    session: &Session,
    diagnostics: &[Diagnostic],
    valid: &str,
) -> ExitCode {
    let count =
        |severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let errors = count(Severity::Error);
    if session.output.is_json() {
        session
            .output
            .data(json!({"valid": errors == 0, "diagnostics": diagnostic_values(diagnostics)}));
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
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| counted(count, word))
            .collect();
        let counts = counts.join(", ");
        session.output.line(match (errors, diagnostics) {
            (0, []) => format!("{}: {valid}", green("valid")),
            (0, _) => format!("{}: {valid} ({counts})", green("valid")),
            _ => format!("{}: {counts}", red("invalid")),
        });
    }
    if errors == 0 { ExitCode::SUCCESS } else { ExitCode::from(INVALID) }
}

/// Returns diagnostics as `--json` shows them.
pub(crate) fn diagnostic_values(diagnostics: &[Diagnostic]) -> Value {
    diagnostics.iter().map(Diagnostic::to_value).collect()
}

/// Returns unreadable files as `--json` shows them.
pub(crate) fn unreadable_values(files: &[Unreadable]) -> Value {
    files.iter().map(unreadable_value).collect()
}

/// Prints which files cannot be read and why, and returns the exit code.
pub(crate) fn tell_unreadable(session: &Session, files: &[Unreadable]) -> ExitCode {
    let output = session.output;
    let shown = if session.verbose { files.len() } else { files.len().min(FEW) };
    for file in &files[..shown] {
        if session.verbose && !file.diagnostics.is_empty() {
            output.say_diagnostics(&file.diagnostics);
            continue;
        }
        let is_task_file = Path::new(&file.path).extension().is_some_and(|end| end == "md");
        let as_task = if is_task_file { " as a task" } else { "" };
        let (error, place) = (red("error:"), inert(&file.place()));
        output.say(format!("{error} `{place}` cannot be read{as_task}: {}", inert(&file.reason)));
    }
    if shown < files.len() {
        output.say(format!("... and {} more", files.len() - shown));
    }
    if files.is_empty() {
        return ExitCode::SUCCESS;
    }
    if !session.verbose && files.iter().any(|file| !file.diagnostics.is_empty()) {
        output.say("see more of each, and all of them, with `-v`");
    }
    ExitCode::from(INVALID)
}
