//! `--dry-run` of a run: the commands and the prompts that would be used, and nothing is started or changed.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::lines::{waits_value, why};
use crate::agents::runner::{Preview, Waits, Wish, preview};
use crate::cli::error::CliError;
use crate::cli::output::{BOLD, CYAN, DIM, styled};
use crate::cli::session::Session;
use crate::files::printable::inert;
use crate::project::workspace::Workspace;
use crate::system::shell::all_quoted;

/// Shows what a runner would do next.
pub(crate) fn of_wish(
    session: &Session,
    workspace: &Workspace,
    wish: &Wish,
) -> Result<ExitCode, CliError> {
    let project = crate::cli::agents::run::command::project(session, workspace)?;
    let (previews, waits) = preview(&project, wish)?;
    shown(session, &previews, &waits);
    if !session.output.is_json() && previews.is_empty() && waits.is_empty() {
        session.output.line("nothing would be started");
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows each command with its prompt, and what waits.
pub(crate) fn shown(session: &Session, previews: &[Preview], waits: &[Waits]) {
    if session.output.is_json() {
        let runs: Vec<Value> = previews.iter().map(value).collect();
        let waits: Vec<Value> = waits.iter().map(waits_value).collect();
        session.output.data(json!({"dryRun": true, "runs": runs, "waits": waits}));
        return;
    }
    for preview in previews {
        let output = session.output;
        let head =
            format!("{} {} by {}", styled(CYAN, &preview.ticket), preview.station, preview.agent);
        output.line(styled(BOLD, head));
        let words: Vec<String> = preview.words.iter().map(|word| inert(word)).collect();
        output.line(format!("  {}", all_quoted(words.iter().map(String::as_str))));
        let names = preview.environment.join(" ");
        output.line(styled(DIM, format!("  environment: {names}")));
        output.line(styled(
            DIM,
            format!(
                "  at most {} s an attempt, {} attempts; the prompt comes {}",
                preview.bounds.timeout.seconds(),
                preview.bounds.attempts,
                preview.prompt_by
            ),
        ));
        output.line("");
        for line in inert(&preview.prompt).lines() {
            output.line(format!("  {} {line}", styled(DIM, "|")));
        }
        output.line("");
    }
    for waits in waits {
        session.output.line(format!(
            "{} {}: {}",
            styled(CYAN, &waits.ticket),
            waits.station,
            why(waits)
        ));
    }
}

fn value(preview: &Preview) -> Value {
    json!({
        "ticket": preview.ticket.to_string(),
        "gate": preview.station.to_string(),
        "agent": preview.agent.as_str(),
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
