//! The tools that change a task without ending a visit, and that create tasks.

use serde_json::{Value, json};

use super::complete_tool::task_standing;
use super::next_call::{complete_call, next_task_call};
use super::open_project::{OpenProject, ToolError};
use super::tool_schema::Tool;
use crate::operations::arguments::Arguments;
use crate::operations::content::{create_tasks, new_task};
use crate::operations::fields::{InputField, InputKind};
use crate::operations::{Effect, table as operation};
use crate::project::rule_lookup::find_workflow;
use crate::rules::{Limit, deadlines};
use crate::tasks::create::NewTask;
use crate::tasks::view::task_view::warnings_value;

pub(crate) const RENEW: Tool = Tool {
    name: "aof_task_renew",
    title: "Say that work goes on",
    description: "Say that you are still at work on your task, so that it stays yours. Needed only where the brief has `claimedUntil`.",
    arguments: operation::RENEW.fields,
    answer: &[
        ("task", "string"),
        ("claimedUntil", "string|null"),
        ("message", "string"),
        ("nextCall", "object|null"),
    ],
    effect: operation::RENEW.effect,
};

pub(crate) fn renew_claim(
    project: &OpenProject<'_>,
    given: &Arguments,
) -> Result<Value, ToolError> {
    let ticket = project.task(given)?;
    let changed = project.change(&operation::RENEW, &ticket, given)?;
    let task = &changed.after.task;
    let ends = deadlines(project.rules(), task);
    let lease = ends.iter().find(|end| end.limit == Limit::Lease && end.branch == ticket.branch);
    let until = lease.map(|end| end.at.to_string());
    let id = &task.id;
    let message = match &until {
        Some(until) => format!("{id} is yours until {until}"),
        None => format!("{id} is yours, without a limit"),
    };
    let next = complete_call(&ticket);
    Ok(json!({"task": id.as_str(), "claimedUntil": until, "message": message, "nextCall": next}))
}

pub(crate) const RELEASE: Tool = Tool {
    name: "aof_task_release",
    title: "Give a task back",
    description: "Give your task back undone, so that another agent can take it. If something stops the work itself, say so with \
                  aof_task_complete and outcome \"blocked\" instead.",
    arguments: operation::RELEASE.fields,
    answer: &[
        ("task", "string"),
        ("status", "string"),
        ("message", "string"),
        ("nextCall", "object|null"),
    ],
    effect: operation::RELEASE.effect,
};

pub(crate) fn release_task(
    project: &OpenProject<'_>,
    given: &Arguments,
) -> Result<Value, ToolError> {
    let ticket = project.task(given)?;
    let changed = project.change(&operation::RELEASE, &ticket, given)?;
    let task = &changed.after.task;
    let (now, _) = task_standing(project, &changed);
    Ok(
        json!({"task": task.id.as_str(), "status": task.status.as_str(), "message": now, "nextCall": next_task_call()}),
    )
}

pub(crate) const COMMENT: Tool = Tool {
    name: "aof_task_comment",
    title: "Comment on a task",
    description: "Add a comment to a task's text, for whoever reads it later. It moves nothing: an outcome is said with \
                  aof_task_complete.",
    arguments: operation::COMMENT.fields,
    answer: &[("task", "string"), ("commit", "string|null"), ("message", "string")],
    effect: operation::COMMENT.effect,
};

pub(crate) fn comment_task(
    project: &OpenProject<'_>,
    given: &Arguments,
) -> Result<Value, ToolError> {
    let ticket = project.task(given)?;
    let changed = project.change(&operation::COMMENT, &ticket, given)?;
    Ok(json!({
        "task": ticket.task.as_str(),
        "commit": changed.commit.map(|commit| commit.to_string()),
        "message": format!("the comment stands at the end of {}", changed.path),
    }))
}

pub(crate) const CREATE: Tool = Tool {
    name: "aof_task_create",
    title: "Create a task",
    description: "Create a task for whoever's turn it then is, in the project's default workflow. It is a part of the task that you \
                  hold: without one it is refused. For a named workflow use aof_workflow_start. It does not become yours: aof_task_next hands out work.",
    arguments: operation::CREATE.fields,
    answer: CREATE_ANSWER,
    effect: operation::CREATE.effect,
};

/// The fields of the answer about a new task.
const CREATE_ANSWER: &[(&str, &str)] = &[
    ("task", "string"),
    ("workflow", "string"),
    ("gate", "string|null"),
    ("status", "string"),
    ("path", "string"),
    ("commit", "string|null"),
    ("message", "string"),
    ("warnings", "array"),
    ("nextCall", "object|null"),
];

pub(crate) fn create_task(
    project: &OpenProject<'_>,
    given: &Arguments,
) -> Result<Value, ToolError> {
    let new = new_task(given, project.today())?;
    create_and_answer(project, given, new)
}

/// Creates the task, and returns the answer about it. Without a named parent it is a part of the task that the server was started for.
fn create_and_answer(
    project: &OpenProject<'_>,
    given: &Arguments,
    mut new: NewTask,
) -> Result<Value, ToolError> {
    let parent = new.fields.parent.take();
    new.fields.parent = parent.or_else(|| project.run().map(|(ticket, _)| ticket.task.clone()));
    let agent = project.agent()?;
    let created = create_tasks(&project.call(&agent, given), &[new])?;
    let changed = &created.task();
    let task = &changed.after.task;
    let (now, next) = task_standing(project, changed);
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

pub(crate) const START: Tool = Tool {
    name: "aof_workflow_start",
    title: "Start a workflow",
    description: "Have something done by a named workflow: makes a task at its first gate. When a person says \"use the feature workflow \
                  to add X\", this one call does it: {\"workflow\": \"feature\", \"title\": \"Add X\", \"input\": \"all that was said of \
                  X\"}. aof_workflow_list has the names.",
    arguments: &[
        InputField::required("workflow", InputKind::Text, "Its name"),
        InputField::required("title", InputKind::Text, "What is to be done, in a few words"),
        InputField::optional(
            "input",
            InputKind::Text,
            "What is to be done, at length, as Markdown: all that whoever does it has to know",
        ),
        InputField::optional(
            "context",
            InputKind::Object,
            "The values that the workflow begins with: `input` in aof_workflow_list",
        ),
        operation::PRIORITY,
        operation::DUE,
        operation::MILESTONE,
        operation::ASSIGNEE,
        operation::LINKS,
        operation::TAGS,
        operation::METADATA,
        operation::PARENT,
    ],
    answer: CREATE_ANSWER,
    effect: Effect::Adds,
};

pub(crate) fn start_workflow(
    project: &OpenProject<'_>,
    given: &Arguments,
) -> Result<Value, ToolError> {
    let workflow = given.id("workflow")?;
    if let Some(name) = &workflow {
        find_workflow(project.rules(), name)?;
    }
    let body = given.text("input").unwrap_or_default();
    create_and_answer(
        project,
        given,
        NewTask { body, is_requested: true, ..new_task(given, project.today())? },
    )
}
