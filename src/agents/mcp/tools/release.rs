//! `aof_task_release`

use serde_json::{Value, json};

use super::tool::{Effect, Tool, standing};
use crate::agents::mcp::arguments::Given;
use crate::agents::mcp::next_call::next_task;
use crate::agents::mcp::schema::Field;
use crate::agents::mcp::session::Project;
use crate::agents::mcp::tool_error::Trouble;
use crate::tasks::actions::release;
use crate::tasks::apply::change::DryRun;

pub(crate) const TOOL: Tool = Tool {
    name: "aof_task_release",
    title: "Give a task back",
    description: "Give your task back undone, so that another agent can take it. If something stops the work itself, say so with \
                  aof_task_complete and outcome \"blocked\" instead.",
    arguments: &[crate::agents::mcp::tools::tool::TASK],
    answer: &[
        ("task", Field::Text),
        ("status", Field::Text),
        ("message", Field::Text),
        ("nextCall", Field::MaybeObject),
    ],
    effect: Effect::Settles,
    run,
};

fn run(project: &Project<'_>, given: &Given) -> Result<Value, Trouble> {
    let agent = project.agent()?;
    let ticket = given.task(project)?;
    let changed = release(&project.workspace, &ticket, Some(&agent), DryRun::No)?;
    let task = &changed.after.task;
    let (now, _) = standing(project, &changed);
    Ok(
        json!({"task": task.id.as_str(), "status": task.status.as_str(), "message": now, "nextCall": next_task()}),
    )
}
