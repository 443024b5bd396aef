//! `aof task brief`

use std::process::ExitCode;

use clap::ValueEnum;

use crate::cli::error::CliError;
use crate::cli::render::page::{Page, not_taken_up, warn_of_visit};
use crate::cli::session::{Session, now};
use crate::domain::Ticket;
use crate::files::printable::one_line;
use crate::files::task_file::{Origin, TaskFile};
use crate::rules::brief::context::GateContext;
use crate::tasks::view::brief::{brief_value, briefed};
use crate::tasks::view::brief_markdown::{brief_markdown, output_lines, verdict_in_words};
use crate::tasks::view::changed::warnings_value;

/// Show what an agent is told at a task's gate
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task, as in `AOF-abc`, or a branch of it, as in `AOF-abc@3/security`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// For people, or for a prompt
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: Form,
}

/// How a brief is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For reading at a terminal
    Text,
    /// Markdown, for a prompt
    Markdown,
    /// What `--json` shows
    Json,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("task brief")?;
    let (file, context, in_force) = briefed(&workspace, &args.ticket)?;
    session.warn_of_rules(&in_force);
    warn_of_visit(session, &args.ticket, &file.task);
    if file.origin == Origin::HandMade {
        session.warn(&format!("{} is {}", file.task.id, not_taken_up(Some(&context.gate))));
    }
    session.warn_all(&context.warnings);
    if session.output.is_json() || args.format == Form::Json {
        let mut value = brief_value(&file, &context);
        value["warnings"] = warnings_value(&context.warnings);
        session.output.data(value);
    } else {
        session.output.print(&match args.format {
            Form::Text => text(&file, &context),
            Form::Markdown | Form::Json => {
                brief_markdown(&file, &context, &format!("`aof task renew {}`", context.ticket))
            }
        });
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the brief as a person reads it.
pub(crate) fn text(file: &TaskFile, context: &GateContext) -> String {
    let mut page = Page::of(&file.task);
    page.line(format!("  gate {}, ticket {}", context.gate, context.ticket));
    if let Some(prompt) = &context.prompt {
        page.text(prompt);
    }
    page.text(&context.role);
    if let Some(instructions) = &context.instructions {
        page.text(instructions);
    }
    if !context.expectations.is_empty() {
        page.head("Expected");
        page.list(&context.expectations);
    }
    page.head("Outcomes");
    let outcomes: Vec<(&str, String)> = context
        .outcomes
        .iter()
        .map(|(outcome, meaning)| (outcome.as_str(), one_line(meaning)))
        .collect();
    page.facts(&outcomes);
    if let Some(verdict) = &context.verdict {
        page.line(format!("  {}", verdict_in_words(verdict)));
    }
    for form in &context.outputs {
        page.head(&format!("Hand on with {}", form.outcome));
        page.list(output_lines(form));
        page.line(format!("  as in {}", one_line(&form.example.to_string())));
    }
    if !context.files.is_empty() {
        page.head("Files");
        page.list(&context.files);
    }
    if !context.tips.is_empty() {
        page.head("Tips");
        page.list(&context.tips);
    }
    if let Some(review) = &context.review {
        page.wishes(review, now());
    }
    for review in &context.earlier {
        page.wishes(review, now());
    }
    let description = file.task.description.as_deref().unwrap_or_default();
    if !(description.trim().is_empty() && file.body().trim().is_empty()) {
        page.head("Task");
        page.text(description);
        page.text(file.body());
    }
    page.head("Say so");
    page.line(format!(
        "  aof task complete {} --outcome OUTCOME --summary \"...\"",
        context.ticket
    ));
    if let Some(end) = context.claimed_until {
        page.line(format!("  aof task renew {}   keeps it yours beyond {end}", context.ticket));
    }
    page.into_text()
}
