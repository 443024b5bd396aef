//! What a client may read beside calling tools: the brief of the current task, and the files of tasks.

use serde_json::{Value, json};

use super::brief::{LONGEST_TEXT, beginning, markdown};
use super::json_rpc::{RESOURCE_NOT_FOUND, RpcError};
use super::session::{OpenProject, ServerSetup};
use super::tool_error::{ToolError, in_tools};
use crate::dispatch::next::claimed;
use crate::domain::{TaskId, Ticket};
use crate::project::error::ProjectError;
use crate::storage::task_files;
use crate::tasks::view::brief::briefed;
use crate::tasks::view::task_view::show;

const BRIEF: &str = "aof://brief";
const TASK: &str = "aof://task/";
const MARKDOWN: &str = "text/markdown";

/// Returns what there is to read now: the brief, and the tasks that the agent has.
pub(crate) fn listed(setup: &ServerSetup) -> Vec<Value> {
    let mut all = vec![json!({
        "uri": BRIEF,
        "name": "brief",
        "title": "Brief of the current task",
        "description": "What is expected of you at the gate of the task that you have",
        "mimeType": MARKDOWN,
    })];
    let Ok(project) = setup.open("resources") else { return all };
    let claims =
        project.viewer().map(|agent| claimed(&project.workspace, &project.in_force, &agent, None));
    for claim in claims.into_iter().flatten() {
        let id = &claim.ticket.task;
        let file = json!({
            "uri": format!("{TASK}{id}"),
            "name": id.as_str(),
            "title": format!("{id}: {}", claim.title),
            "description": "The task's file, as it stands",
            "mimeType": MARKDOWN,
        });
        // An agent may have several branches of one task.
        if !all.contains(&file) {
            all.push(file);
        }
    }
    all
}

/// Returns how every task's file is named.
pub(crate) fn template() -> Value {
    json!({
        "uriTemplate": format!("{TASK}{{id}}"),
        "name": "task",
        "title": "A task's file",
        "description": "The file of the task of that id, as in aof://task/AOF-7qk: its fields, its text, its history",
        "mimeType": MARKDOWN,
    })
}

/// Reads one of them.
pub(crate) fn read(setup: &ServerSetup, uri: &str) -> Result<Value, RpcError> {
    let text = match (uri, uri.strip_prefix(TASK)) {
        (BRIEF, _) => setup
            .open("brief")
            .map_err(ToolError::from)
            .and_then(|project| Ok(brief_of(&project, &project.current()?)?)),
        (_, Some(id)) => {
            setup.open("task").map_err(ToolError::from).and_then(|project| file(&project, id))
        }
        _ => {
            let problem = format!("there is no resource `{uri}`; there are {BRIEF} and {TASK}ID");
            return Err(RpcError::new(RESOURCE_NOT_FOUND, problem));
        }
    };
    let mut text = text.map_err(|error| not_found(&error))?;
    if let (shown, true) = beginning(&text, LONGEST_TEXT) {
        let all = text.len();
        text = format!("{shown}\n\n(cut here: {all} bytes in all; aof_task_get brings the rest)\n");
    }
    Ok(json!({"contents": [{"uri": uri, "mimeType": MARKDOWN, "text": text}]}))
}

/// Returns the brief of a task as Markdown.
pub(crate) fn brief_of(project: &OpenProject<'_>, ticket: &Ticket) -> Result<String, ProjectError> {
    let (file, context, _) = briefed(&project.workspace, ticket)?;
    Ok(markdown(&file, &context))
}

fn file(project: &OpenProject<'_>, id: &str) -> Result<String, ToolError> {
    let id: TaskId = id.parse()?;
    let (view, _) = show(&project.workspace, &id)?;
    let snapshot = task_files::read(&project.workspace.paths, &view.path)?;
    Ok(String::from_utf8_lossy(&snapshot.bytes).into_owned())
}

/// Returns what went wrong, as the protocol says that something is not there.
pub(crate) fn not_found(error: &ToolError) -> RpcError {
    let value = error.value();
    let message = value["message"].as_str().map(in_tools).unwrap_or_default();
    RpcError::new(RESOURCE_NOT_FOUND, message).with_data(value)
}
