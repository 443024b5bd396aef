//! What a client may read beside calling tools: the brief of the current task, and the files of tasks.

use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

use super::brief::{SHOWN, beginning, markdown};
use super::current::current;
use super::session::{Desk, Project};
use super::tool_error::{Trouble, in_tools};
use crate::dispatch::next::claimed;
use crate::domain::{TaskId, Ticket};
use crate::storage::tasks::task_files;
use crate::tasks::view::brief::briefed;
use crate::tasks::view::task_view::show;

const BRIEF: &str = "aof://brief";
const TASK: &str = "aof://task/";
const MARKDOWN: &str = "text/markdown";

/// Returns what there is to read now: the brief, and the tasks that the agent has.
pub(crate) fn listed(desk: &Desk) -> Vec<Resource> {
    let brief = Resource::new(BRIEF, "brief")
        .with_title("Brief of the current task")
        .with_description("What is expected of you at the gate of the task that you have")
        .with_mime_type(MARKDOWN);
    let mut all = vec![brief];
    if let Ok(project) = desk.open("resources") {
        let claims = project
            .viewer()
            .map(|agent| claimed(&project.workspace, &project.in_force, &agent, None));
        for claim in claims.into_iter().flatten() {
            let id = &claim.ticket.task;
            let file = Resource::new(format!("{TASK}{id}"), id.as_str())
                .with_title(format!("{id}: {}", claim.title))
                .with_description("The task's file, as it stands")
                .with_mime_type(MARKDOWN);
            if !all.iter().any(|known| known.uri == file.uri) {
                all.push(file);
            }
        }
    }
    all
}

/// Returns how every task's file is named.
pub(crate) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{TASK}{{id}}"), "task")
        .with_title("A task's file")
        .with_description(
            "The file of the task of that id, as in aof://task/AOF-7qk: its fields, its text, its history",
        )
        .with_mime_type(MARKDOWN)
}

/// Reads one of them.
pub(crate) fn read(desk: &Desk, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let text = match (uri, uri.strip_prefix(TASK)) {
        (BRIEF, _) => desk.open("brief").map_err(Trouble::from).and_then(|project| brief(&project)),
        (_, Some(id)) => {
            desk.open("task").map_err(Trouble::from).and_then(|project| file(&project, id))
        }
        _ => {
            let problem = format!("there is no resource `{uri}`; there are {BRIEF} and {TASK}ID");
            return Err(ErrorData::resource_not_found(problem, None));
        }
    };
    let text = text.map_err(|trouble| not_found(&trouble))?;
    let (shown, cut) = beginning(&text, SHOWN);
    let shown = if cut {
        format!(
            "{shown}\n\n(cut here: {} bytes in all; aof_task_get brings the rest)\n",
            text.len()
        )
    } else {
        text
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(shown, uri).with_mime_type(MARKDOWN)]))
}

fn brief(project: &Project<'_>) -> Result<String, Trouble> {
    let ticket = current(project)?;
    Ok(brief_of(project, &ticket)?)
}

/// Returns the brief of a task as Markdown.
pub(crate) fn brief_of(
    project: &Project<'_>,
    ticket: &Ticket,
) -> Result<String, crate::project::error::error::OpsError> {
    let (file, context, _) = briefed(&project.workspace, ticket)?;
    Ok(markdown(&file, &context))
}

fn file(project: &Project<'_>, id: &str) -> Result<String, Trouble> {
    let id: TaskId = id.parse()?;
    let (view, _) = show(&project.workspace, &id)?;
    let snapshot = task_files::read(&project.workspace.paths, &view.path)?;
    Ok(String::from_utf8_lossy(&snapshot.bytes).into_owned())
}

/// Returns what went wrong as the protocol says it of what is not to be had.
pub(crate) fn not_found(trouble: &Trouble) -> ErrorData {
    let value = trouble.value();
    let message = value["message"].as_str().map(in_tools).unwrap_or_default();
    ErrorData::resource_not_found(message, Some(value))
}
