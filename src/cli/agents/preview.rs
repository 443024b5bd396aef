//! `--dry-run` of a run: its commands and prompts; nothing is started or changed

use std::process::ExitCode;

use serde_json::{Value, json};

use super::news::{waits_line, waits_value};
use super::runner::project;
use crate::agents::runner::{Preview, RunTarget, WaitingWork, preview};
use crate::cli::error::CliError;
use crate::cli::output::{bold, cyan, dim};
use crate::cli::session::Session;
use crate::files::printable::inert;
use crate::project::workspace::Workspace;
use crate::system::shell::all_quoted;

/// Shows what a runner would start next.
pub(crate) fn show_next(
    session: &Session,
    workspace: &Workspace,
    wish: &RunTarget,
) -> Result<ExitCode, CliError> {
    let (previews, waits) = preview(&project(session, workspace)?, wish)?;
    show(session, &previews, &waits);
    if !session.output.is_json() && previews.is_empty() && waits.is_empty() {
        session.output.line("nothing would be started");
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows each command with its prompt, and what waits.
pub(crate) fn show(session: &Session, previews: &[Preview], waits: &[WaitingWork]) {
    let output = session.output;
    if output.is_json() {
        let runs: Vec<Value> = previews.iter().map(value).collect();
        let waits: Vec<Value> = waits.iter().map(waits_value).collect();
        output.data(json!({"dryRun": true, "runs": runs, "waits": waits}));
        return;
    }
    for preview in previews {
        let Preview { ticket, station, agent, bounds, prompt_by, .. } = preview;
        output.line(bold(format!("{} {station} by {agent}", cyan(ticket))));
        let words: Vec<String> = preview.words.iter().map(|word| inert(word)).collect();
        output.line(format!("  {}", all_quoted(words.iter().map(String::as_str))));
        output.line(dim(format!("  environment: {}", preview.environment.join(" "))));
        let (seconds, attempts) = (bounds.timeout.seconds(), bounds.attempts);
        output.line(dim(format!(
            "  at most {seconds} s an attempt, {attempts} attempts; the prompt comes {prompt_by}"
        )));
        output.line("");
        for line in inert(&preview.prompt).lines() {
            output.line(format!("  {} {line}", dim("|")));
        }
        output.line("");
    }
    for waits in waits {
        output.line(waits_line(waits));
    }
}

fn value(preview: &Preview) -> Value {
    json!({
        "ticket": preview.ticket,
        "gate": preview.station,
        "agent": preview.agent,
        "command": preview.words,
        "environment": preview.environment,
        "prompt": preview.prompt,
        "promptBy": preview.prompt_by,
        "timeoutSeconds": preview.bounds.timeout.seconds(),
        "idleSeconds": preview.bounds.idle.seconds(),
        "attempts": preview.bounds.attempts,
        "model": preview.bounds.model,
    })
}
