//! `aof_task_comment`

use serde_json::{Value, json};

use super::tool::{Effect, Tool};
use crate::agents::mcp::arguments::Given;
use crate::agents::mcp::schema::{Argument, Field, Form};
use crate::agents::mcp::session::Project;
use crate::agents::mcp::tool_error::Trouble;
use crate::tasks::apply::change::DryRun;
use crate::tasks::edit::{Comment, comment};

pub(crate) const TOOL: Tool = Tool {
    name: "aof_task_comment",
    title: "Comment on a task",
    description: "Add a comment to a task's text, for whoever reads it later. It moves nothing: an outcome is said with \
                  aof_task_complete.",
    arguments: &[
        Argument::required("text", Form::Text, "What is to be said, as Markdown"),
        crate::agents::mcp::tools::tool::TASK,
    ],
    answer: &[("task", Field::Text), ("commit", Field::MaybeText), ("message", Field::Text)],
    effect: Effect::Adds,
    run,
};

fn run(project: &Project<'_>, given: &Given) -> Result<Value, Trouble> {
    let agent = project.agent()?;
    let id = given.task(project)?.task;
    let said = Comment { text: given.text("text").unwrap_or_default(), agent: Some(agent) };
    let changed = comment(&project.workspace, &id, &said, DryRun::No)?;
    Ok(json!({
        "task": id.as_str(),
        "commit": changed.commit.map(|commit| commit.to_string()),
        "message": format!("the comment stands at the end of {}", changed.path),
    }))
}
