//! `aof_task_create`

use serde_json::{Value, json};

use super::tool::{Effect, Tool, standing};
use crate::agents::mcp::arguments::Given;
use crate::agents::mcp::schema::{Argument, Field, Form};
use crate::agents::mcp::session::Project;
use crate::agents::mcp::tool_error::Trouble;
use crate::tasks::apply::change::DryRun;
use crate::tasks::create::{NewTask, create};
use crate::tasks::view::changed::warnings_value;

pub(crate) const TOOL: Tool = Tool {
    name: "aof_task_create",
    title: "Create a task",
    description: "Create a task for whoever's turn it then is, in the project's default workflow. For a named workflow use \
                  aof_workflow_start. It does not become yours: aof_task_next hands out work.",
    arguments: &[
        Argument::required("title", Form::Text, "What is to be done, in a few words"),
        Argument::optional("description", Form::Text, "In a sentence"),
        Argument::optional("body", Form::Text, "At length, as Markdown"),
        Argument::optional("tags", Form::Texts, ""),
        Argument::optional("metadata", Form::Object, "Facts, as in {\"priority\": \"high\"}"),
        Argument::optional("dependsOn", Form::Texts, "Ids of tasks that must be complete first"),
    ],
    answer: MADE,
    effect: Effect::Adds,
    run,
};

/// What is told of a new task.
pub(crate) const MADE: &[(&str, Field)] = &[
    ("task", Field::Text),
    ("workflow", Field::Text),
    ("gate", Field::MaybeText),
    ("status", Field::Text),
    ("path", Field::Text),
    ("commit", Field::MaybeText),
    ("message", Field::Text),
    ("warnings", Field::List),
    ("nextCall", Field::MaybeObject),
];

fn run(project: &Project<'_>, given: &Given) -> Result<Value, Trouble> {
    let new = NewTask {
        body: given.text("body").unwrap_or_default(),
        depends_on: given.ids("dependsOn")?,
        ..said(given)
    };
    made(project, &new)
}

/// Returns what every new task may be given.
pub(crate) fn said(given: &Given) -> NewTask {
    NewTask {
        title: given.text("title").unwrap_or_default(),
        description: given.text("description"),
        tags: given.texts("tags").unwrap_or_default(),
        metadata: given.object("metadata"),
        ..NewTask::default()
    }
}

/// Makes the task, and says where it stands.
pub(crate) fn made(project: &Project<'_>, new: &NewTask) -> Result<Value, Trouble> {
    let agent = project.agent()?;
    let made = create(&project.workspace, std::slice::from_ref(new), Some(&agent), DryRun::No)?;
    let changed = made.first().expect("what was asked for was made");
    let task = &changed.after.task;
    let (now, next) = standing(project, changed);
    Ok(json!({
        "task": task.id.as_str(),
        "workflow": task.routing.workflow.as_str(),
        "gate": task.gate.as_ref().map(|open| open.current.as_str()),
        "status": task.status.as_str(),
        "path": changed.path.as_str(),
        "commit": changed.commit.map(|commit| commit.to_string()),
        "message": now,
        "warnings": warnings_value(&changed.warnings),
        "nextCall": next,
    }))
}
