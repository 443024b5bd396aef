//! `aof_task_renew`

use serde_json::{Value, json};

use super::tool::{Effect, Tool};
use crate::agents::mcp::arguments::Given;
use crate::agents::mcp::next_call::call;
use crate::agents::mcp::schema::{Argument, Field, Form};
use crate::agents::mcp::session::Project;
use crate::agents::mcp::tool_error::Trouble;
use crate::rules::{Limit, deadlines};
use crate::tasks::actions::renew;
use crate::tasks::apply::change::DryRun;

pub(crate) const TOOL: Tool = Tool {
    name: "aof_task_renew",
    title: "Say that work goes on",
    description: "Say that you are still at work on your task, so that it stays yours. Needed only where the brief has `claimedUntil`.",
    arguments: &[
        crate::agents::mcp::tools::tool::TASK,
        Argument::optional("note", Form::Text, "How far you are"),
    ],
    answer: &[
        ("task", Field::Text),
        ("claimedUntil", Field::MaybeText),
        ("message", Field::Text),
        ("nextCall", Field::MaybeObject),
    ],
    effect: Effect::Settles,
    run,
};

fn run(project: &Project<'_>, given: &Given) -> Result<Value, Trouble> {
    let agent = project.agent()?;
    let ticket = given.task(project)?;
    let note = given.text("note");
    let changed = renew(&project.workspace, &ticket, &agent, note.as_deref(), DryRun::No)?;
    let task = &changed.after.task;
    let ends = deadlines(project.rules(), task);
    let lease = ends.iter().find(|end| end.limit == Limit::Lease && end.branch == ticket.branch);
    let until = lease.map(|end| end.at.to_string());
    let id = &task.id;
    let message = match &until {
        Some(until) => format!("{id} is yours until {until}"),
        None => format!("{id} is yours, without a limit"),
    };
    let done = json!({"task": ticket.to_string(), "outcome": "<one of outcomes>", "summary": "<what you did>"});
    Ok(
        json!({"task": id.as_str(), "claimedUntil": until, "message": message, "nextCall": call("aof_task_complete", done)}),
    )
}
