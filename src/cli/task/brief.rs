//! `aof task brief`

use std::process::ExitCode;

use clap::ValueEnum;

use super::shown::warnings;
use crate::cli::output::inert;
use crate::cli::page::{Page, not_taken_up, warn_of_visit};
use crate::cli::session::{Session, now};
use crate::cli::table::one_line;
use crate::cli::trouble::Trouble;
use crate::engine::brief::{Form as OutputForm, GateContext};
use crate::engine::outputs::Field;
use crate::format::task_file::{Origin, TaskFile};
use crate::model::Ticket;
use crate::ops::{brief_value, briefed};

/// Show what an agent is told at a task's gate
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
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

pub(super) fn run(session: &Session, args: &Args) -> Result<ExitCode, Trouble> {
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
        value["warnings"] = warnings(&context.warnings);
        session.output.data(value);
    } else {
        session.output.print(&match args.format {
            Form::Text => text(&file, &context),
            Form::Markdown | Form::Json => markdown(&file, &context),
        });
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the brief as a person reads it.
pub(super) fn text(file: &TaskFile, context: &GateContext) -> String {
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
    let outcomes: Vec<(&str, String)> =
        context.outcomes.iter().map(|(outcome, meaning)| (outcome.as_str(), one_line(meaning))).collect();
    page.facts(&outcomes);
    if let Some(verdict) = &context.verdict {
        page.line(format!("  {}", in_words(verdict)));
    }
    for form in &context.outputs {
        page.head(&format!("Hand on with {}", form.outcome));
        page.list(lines(form));
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
    if !(description.trim().is_empty() && file.body.trim().is_empty()) {
        page.head("Task");
        page.text(description);
        page.text(&file.body);
    }
    page.head("Say so");
    page.line(format!("  aof task complete {} --outcome OUTCOME --summary \"...\"", context.ticket));
    if let Some(end) = context.claimed_until {
        page.line(format!("  aof task renew {}   keeps it yours beyond {end}", context.ticket));
    }
    page.into_text()
}

/// Returns how a text says the outcome.
fn in_words(verdict: &str) -> String {
    format!("A text can say it, too: {}. The last one counts; what is quoted or code does not.", one_line(verdict))
}

/// Returns the fields that are handed on with an outcome, a line each.
fn lines(form: &OutputForm) -> Vec<String> {
    let line = |field: &Field| {
        let need = if field.required { "" } else { " (optional)" };
        let about = field.description.as_ref().map(|text| format!(" - {text}")).unwrap_or_default();
        let default = field.default.as_ref().map(|value| format!("; {value} unless you say")).unwrap_or_default();
        format!("{}{need}: {}{default}{about}", field.name, field.form)
    };
    form.fields.iter().map(line).collect()
}

/// Returns the brief for a prompt.
fn markdown(file: &TaskFile, context: &GateContext) -> String {
    let mut text = format!("# {}: {}\n\n", file.task.id, one_line(&file.task.title));
    text.push_str(&format!("Gate `{}`, ticket `{}`.\n\n{}\n", context.gate, context.ticket, inert(&context.role)));
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("\n## {title}\n\n{}\n", lines.join("\n")));
        }
    };
    let items = |list: &[String]| list.iter().map(|item| format!("- {}", one_line(item))).collect::<Vec<_>>();
    section("Asked", context.prompt.iter().map(|text| inert(text.trim_end())).collect());
    section("Instructions", context.instructions.iter().map(|text| inert(text.trim_end())).collect());
    section("Expected", items(&context.expectations));
    let outcomes = context.outcomes.iter().map(|(outcome, meaning)| format!("- `{outcome}`: {}", one_line(meaning)));
    let verdict = context.verdict.iter().map(|verdict| format!("\n{}", in_words(verdict)));
    section("Outcomes", outcomes.chain(verdict).collect());
    for form in &context.outputs {
        let mut own = items(&lines(form));
        let example = serde_json::to_string_pretty(&form.example).unwrap_or_default();
        own.push(format!("\n```json\n{}\n```", inert(&example)));
        section(&format!("Outputs with `{}`", form.outcome), own);
    }
    section("Files", context.files.iter().map(|pattern| format!("- `{}`", one_line(pattern))).collect());
    section("Tips", items(&context.tips));
    let renewal = |end| format!("Work that goes on beyond {end} is kept by `aof task renew {}`.", context.ticket);
    section("Time", context.claimed_until.map(renewal).into_iter().collect());
    for review in context.review.iter().chain(&context.earlier) {
        let mut lines = items(&review.blockers);
        lines.extend(review.notes.iter().map(|notes| format!("\n{}", inert(notes.trim_end()))));
        section("Sent back", lines);
    }
    let task = [file.task.description.as_deref().unwrap_or_default(), file.body.trim_matches('\n')];
    let parts: Vec<String> = task.iter().filter(|part| !part.trim().is_empty()).map(|part| inert(part)).collect();
    section("Task", parts.join("\n\n").lines().map(str::to_owned).collect());
    text
}
