//! `aof_task_next`

use serde_json::{Value, json};

use super::{Effect, Tool};
use crate::engine::Post;
use crate::mcp::arguments::Given;
use crate::mcp::brief;
use crate::mcp::desk::Project;
use crate::mcp::next_call::call;
use crate::mcp::schema::{Argument, Field, Form};
use crate::mcp::trouble::Trouble;
use crate::model::{RoleId, listed};
use crate::ops::{DryRun, Next, Wanted, brief_of, known_worker, next, warnings_value};

pub(super) const TOOL: Tool = Tool {
    name: "aof_task_next",
    title: "Take the next task",
    description: "Take your next task and read what is to be done. Call it when you begin, and after each completion. It gives the \
                  task that you have already, else the most urgent one that you may do, which is yours from then on.\n\
                  `task.gate_context` says what is expected of you: `expectations` is your checklist, `outcomes` what you may answer \
                  and when. `task.reviewContext` is what a reviewer wants mended: do that first. `task` is null when there is nothing \
                  to do: stop then.",
    arguments: &[
        Argument::optional("role", Form::Text, "Only work of this role"),
        Argument::optional("another", Form::Flag, "One more, besides what you have"),
    ],
    answer: &[
        ("task", Field::Task),
        ("message", Field::Text),
        ("warnings", Field::List),
        ("nextCall", Field::MaybeObject),
    ],
    effect: Effect::Settles,
    run,
};

fn run(project: &Project<'_>, given: &Given) -> Result<Value, Trouble> {
    let agent = project.agent()?;
    let role: Option<RoleId> = given.id("role")?;
    let rules = project.rules();
    known_worker(rules, &agent, role.as_ref())?;
    let wanted = if given.flag("another") { Wanted::Another } else { Wanted::Next };
    let found = next(&project.workspace, &project.in_force, &agent, role.as_ref(), wanted, DryRun::No)?;
    let (changed, ticket) = match found {
        Next::Task { changed, ticket } => (changed, ticket),
        Next::Nothing { roles, waiting } => {
            let others = match waiting {
                0 => String::new(),
                1 => "; 1 task is there, but taken, blocked or waiting".to_owned(),
                count => format!("; {count} tasks are there, but taken, blocked or waiting"),
            };
            let of = if roles.is_empty() { String::new() } else { format!(" in {}", listed(&roles)) };
            return Ok(json!({
                "task": null,
                "message": format!("nothing to do for `{agent}`{of}{others}"),
                "warnings": [],
                "nextCall": null,
            }));
        }
    };
    let post = Post::meant(rules, &changed.after.task, ticket.branch.as_ref());
    let context = post.and_then(|post| brief_of(rules, &changed.after, &post));
    let (ticket, task) = match &context {
        Some(context) => (context.ticket.to_string(), brief::value(&changed.after, context)),
        None => (ticket.to_string(), json!({"id": ticket.task.as_str(), "ticket": ticket.to_string()})),
    };
    Ok(json!({
        "task": task,
        "message": format!("{ticket} is yours: do what its brief expects, then say how it went"),
        "warnings": warnings_value(&changed.warnings),
        "nextCall": call("aof_task_complete", json!({"task": ticket, "outcome": "<one of outcomes>", "summary": "<what you did>"})),
    }))
}
