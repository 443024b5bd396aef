//! The tool that hands out work.

use serde_json::{Value, json};

use crate::agents::mcp::arguments::Arguments;
use crate::agents::mcp::brief;
use crate::agents::mcp::next_call;
use crate::agents::mcp::schema::{ArgForm, Argument, Tool, ToolEffect};
use crate::agents::mcp::session::OpenProject;
use crate::agents::mcp::tool_error::ToolError;
use crate::dispatch::next::{Next, Wanted, next};
use crate::domain::{RoleId, Ticket, listed};
use crate::rules::{Warning, Workplace};
use crate::tasks::headers::list::known_worker;
use crate::tasks::plan::DryRun;
use crate::tasks::view::brief::briefed;
use crate::tasks::view::task_view::brief_of;
use crate::tasks::view::task_view::show;
use crate::tasks::view::task_view::warnings_value;

pub(crate) const NEXT: Tool = Tool {
    name: "aof_task_next",
    title: "Take the next task",
    description: "Take your next task and read what is to be done. Call it when you begin, and after each completion. It gives the \
                  task that you have already, else the most urgent one that you may do, which is yours from then on.\n\
                  `task.gate_context` says what is expected of you: `expectations` is your checklist, `outcomes` what you may answer \
                  and when. `task.reviewContext` is what a reviewer wants mended: do that first. `task` is null when there is nothing \
                  to do: stop then.",
    arguments: &[
        Argument::optional("role", ArgForm::Text, "Only work of this role"),
        Argument::optional("another", ArgForm::Flag, "One more, besides what you have"),
    ],
    answer: &[
        ("task", "object|string|null"),
        ("message", "string"),
        ("warnings", "array"),
        ("nextCall", "object|null"),
    ],
    effect: ToolEffect::Settles,
};

pub(crate) fn next_task(project: &OpenProject<'_>, given: &Arguments) -> Result<Value, ToolError> {
    let agent = project.agent()?;
    let role: Option<RoleId> = given.id("role")?;
    let rules = project.rules();
    known_worker(rules, &agent, role.as_ref())?;
    if let Some((ticket, _)) = project.run() {
        return only(project, ticket);
    }
    let wanted = if given.flag("another") { Wanted::Another } else { Wanted::Next };
    let found =
        next(&project.workspace, &project.in_force, &agent, role.as_ref(), wanted, DryRun::No)?;
    let (changed, ticket) = match found {
        Next::Task { changed, ticket, .. } => (changed, ticket),
        Next::Nothing { roles, waiting } => {
            let others = match waiting {
                0 => String::new(),
                1 => "; 1 task is there, but taken, blocked or waiting".to_owned(),
                count => format!("; {count} tasks are there, but taken, blocked or waiting"),
            };
            let of =
                if roles.is_empty() { String::new() } else { format!(" in {}", listed(&roles)) };
            return Ok(nothing(&format!("nothing to do for `{agent}`{of}{others}")));
        }
    };
    let post = Workplace::meant(rules, &changed.after.task, ticket.branch.as_ref());
    let context = post.and_then(|post| brief_of(rules, &changed.after, &post));
    let (ticket, task) = match &context {
        Some(context) => (context.ticket.to_string(), brief::value(&changed.after, context)),
        None => {
            (ticket.to_string(), json!({"id": ticket.task.as_str(), "ticket": ticket.to_string()}))
        }
    };
    Ok(yours(&ticket, &task, &changed.warnings))
}

/// Answers for a server that was started for one visit: it hands out nothing else.
fn only(project: &OpenProject<'_>, ticket: &Ticket) -> Result<Value, ToolError> {
    let (view, _) = show(&project.workspace, &ticket.task)?;
    let task = &view.file.task;
    let open =
        ticket.visit.is_none_or(|visit| task.gate.as_ref().is_some_and(|open| open.visit == visit));
    if !open || task.gate.is_none() {
        return Ok(nothing(&format!("{ticket} is what you were started for, and it is done")));
    }
    let (file, context, _) = briefed(&project.workspace, ticket)?;
    Ok(yours(&context.ticket.to_string(), &brief::value(&file, &context), &context.warnings))
}

fn yours(ticket: &str, task: &Value, warnings: &[Warning]) -> Value {
    json!({
        "task": task,
        "message": format!("{ticket} is yours: do what its brief expects, then say how it went"),
        "warnings": warnings_value(warnings),
        "nextCall": next_call::complete(ticket),
    })
}

fn nothing(message: &str) -> Value {
    json!({"task": null, "message": message, "warnings": [], "nextCall": null})
}
