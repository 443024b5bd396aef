//! `aof_workflow_start`

use serde_json::Value;

use super::create::{MADE, made, said};
use super::tool::{Effect, Tool};
use crate::agents::mcp::arguments::Given;
use crate::agents::mcp::schema::{Argument, Form};
use crate::agents::mcp::session::Project;
use crate::agents::mcp::tool_error::Trouble;
use crate::tasks::create::NewTask;
use crate::tasks::lookup::workflow_named;

pub(crate) const TOOL: Tool = Tool {
    name: "aof_workflow_start",
    title: "Start a workflow",
    description: "Have something done by a named workflow: makes a task at its first gate. When a person says \"use the feature workflow \
                  to add X\", this one call does it: {\"workflow\": \"feature\", \"title\": \"Add X\", \"input\": \"all that was said of \
                  X\"}. aof_workflow_list has the names.",
    arguments: &[
        Argument::required("workflow", Form::Text, "Its name"),
        Argument::required("title", Form::Text, "What is to be done, in a few words"),
        Argument::optional(
            "input",
            Form::Text,
            "What is to be done, at length, as Markdown: all that whoever does it has to know",
        ),
        Argument::optional(
            "context",
            Form::Object,
            "The values that the workflow begins with: `input` in aof_workflow_list",
        ),
        Argument::optional("tags", Form::Texts, ""),
        Argument::optional("metadata", Form::Object, "Facts, as in {\"priority\": \"high\"}"),
    ],
    answer: MADE,
    effect: Effect::Adds,
    run,
};

fn run(project: &Project<'_>, given: &Given) -> Result<Value, Trouble> {
    let workflow = given.id("workflow")?;
    if let Some(name) = &workflow {
        workflow_named(project.rules(), name)?;
    }
    let body = given.text("input").unwrap_or_default();
    made(project, &NewTask { body, input: given.object("context"), workflow, ..said(given) })
}
