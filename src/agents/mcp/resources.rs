//! Resources and prompts: the brief of the current task, and the files of tasks.

use serde_json::{Value, json};

use super::json_rpc::{INVALID_PARAMS, RESOURCE_NOT_FOUND, RpcError};
use super::next_call::call;
use super::open_project::{OpenProject, ServerSetup, ToolError};
use crate::dispatch::next::claimed;
use crate::domain::{IdFault, Map, TaskId, Ticket};
use crate::files::task_file::TaskFile;
use crate::project::error::ProjectError;
use crate::rules::brief::GateContext;
use crate::storage::task_files;
use crate::tasks::view::brief::{BriefExtent, brief_markdown, brief_value, task_brief};
use crate::tasks::view::task_view::show;

const BRIEF: &str = "aof://brief";
const TASK: &str = "aof://task/";
const MARKDOWN: &str = "text/markdown";

/// Returns the resources: the brief, and the tasks that the agent holds.
pub(crate) fn list_resources(setup: &ServerSetup) -> Vec<Value> {
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
        // An agent may hold several branches of one task.
        if !all.contains(&file) {
            all.push(file);
        }
    }
    all
}

/// Returns the template for the files of all tasks.
pub(crate) fn resource_template() -> Value {
    json!({
        "uriTemplate": format!("{TASK}{{id}}"),
        "name": "task",
        "title": "A task's file",
        "description": "The file of the task of that id, as in aof://task/AOF-7qk: its fields, its text, its history",
        "mimeType": MARKDOWN,
    })
}

/// Reads a resource.
pub(crate) fn read_resource(setup: &ServerSetup, uri: &str) -> Result<Value, RpcError> {
    let text = match (uri, uri.strip_prefix(TASK)) {
        (BRIEF, _) => setup
            .open("brief")
            .map_err(ToolError::from)
            .and_then(|project| Ok(brief_of(&project, &project.current()?)?)),
        (_, Some(id)) => {
            setup.open("task").map_err(ToolError::from).and_then(|project| task_file(&project, id))
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
fn brief_of(project: &OpenProject<'_>, ticket: &Ticket) -> Result<String, ProjectError> {
    let (file, context, _) = task_brief(&project.workspace, ticket)?;
    Ok(brief_text(&file, &context, LONGEST_TEXT))
}

fn task_file(project: &OpenProject<'_>, id: &str) -> Result<String, ToolError> {
    let id: TaskId = id.parse()?;
    let (view, _) = show(&project.workspace, &id)?;
    let snapshot = task_files::read(&project.workspace.paths, &view.path)?;
    Ok(String::from_utf8_lossy(&snapshot.bytes).into_owned())
}

/// Returns an error as the protocol's `resource not found`.
fn not_found(error: &ToolError) -> RpcError {
    RpcError::new(RESOURCE_NOT_FOUND, error.message()).with_data(error.value())
}

/// The number of bytes of a text that are shown at once.
pub(crate) const LONGEST_TEXT: usize = 20 * 1024;

/// Returns the brief as JSON.
pub(crate) fn brief_json(file: &TaskFile, context: &GateContext) -> Value {
    let mut value = brief_value(file, context);
    cut_body(&mut value, 0, LONGEST_TEXT);
    value
}

/// Returns the brief as Markdown, cut at that many bytes, and how to complete the visit.
pub(crate) fn brief_text(file: &TaskFile, context: &GateContext, longest: usize) -> String {
    let text = brief_markdown(file, context, "aof_task_renew", BriefExtent::Whole);
    let (shown, cut) = beginning(&text, longest);
    let ticket = &context.ticket;
    let rest = if cut {
        format!("\n\n(cut here; the rest by aof_task_get with task {ticket})\n")
    } else {
        String::new()
    };
    format!(
        "{shown}{rest}\n## Say how it went\n\nCall aof_task_complete with `task`: `{ticket}`, `outcome`: one of those above, and \
         `summary`: what you did.\n"
    )
}

/// Cuts a task's `body` to a part that begins at byte `from` and fits, and adds the call for the rest.
pub(crate) fn cut_body(value: &mut Value, from: usize, longest: usize) {
    let Some(body) = value["body"].as_str().map(str::to_owned) else { return };
    let from = body.floor_char_boundary(from);
    let (shown, cut) = beginning(&body[from..], longest);
    if from > 0 || cut {
        value["body"] = json!(shown);
        value["bodyBytes"] = json!(body.len());
    }
    if cut {
        value["truncated"] = json!(true);
        value["rest"] =
            call("aof_task_get", json!({"task": value["id"], "offset": from + shown.len()}));
    }
}

/// Returns the beginning of a text, and true if there is more.
fn beginning(text: &str, bytes: usize) -> (&str, bool) {
    let end = text.floor_char_boundary(bytes);
    (&text[..end], end < text.len())
}

const WORK: &str = "work-next";
const REVIEW: &str = "review-task";

/// Returns the prompts. A read-only server has none, since both end with a completion.
pub(crate) fn list_prompts(setup: &ServerSetup) -> Value {
    if setup.read_only {
        return json!([]);
    }
    let task = json!({"name": "task", "description": "The task, as in AOF-7qk", "required": true});
    let role = json!({"name": "role", "description": "Only work of this role"});
    json!([
        {
            "name": WORK,
            "description": "Take the next task, do the work, say how it went",
            "arguments": [role],
        },
        {
            "name": REVIEW,
            "description": "Look at the work of a task at its gate, and say what you find",
            "arguments": [task],
        },
    ])
}

/// Returns true if `name` is a prompt or a resource template of this server.
pub(crate) fn is_referable(setup: &ServerSetup, name: &str) -> bool {
    name == resource_template()["uriTemplate"] || !setup.read_only && [WORK, REVIEW].contains(&name)
}

/// Returns a prompt with its arguments filled in.
pub(crate) fn get_prompt(
    setup: &ServerSetup,
    name: &str,
    arguments: &Map,
) -> Result<Value, RpcError> {
    if setup.read_only || ![WORK, REVIEW].contains(&name) {
        let problem = format!("there is no prompt `{name}`; there are `{WORK}` and `{REVIEW}`");
        return Err(RpcError::new(INVALID_PARAMS, problem));
    }
    let project = setup.open("prompt").map_err(|error| not_found(&error.into()))?;
    let text = if name == WORK {
        work_prompt(&project, arguments)
    } else {
        review_prompt(&project, arguments)?
    };
    Ok(json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}))
}

fn work_prompt(project: &OpenProject<'_>, arguments: &Map) -> String {
    let begun = project.current().ok().and_then(|ticket| brief_of(project, &ticket).ok());
    let begin = if let Some(brief) = &begun {
        format!("You have a task already. This is its brief:\n\n{brief}")
    } else {
        let role = arguments.get("role").and_then(Value::as_str).filter(|role| !role.is_empty());
        let role = role.map(|role| format!(" with `role`: `{role}`")).unwrap_or_default();
        format!(
            "Call aof_task_next{role} to take your next task. If there is none, say so and stop."
        )
    };
    format!(
        "{begin}\n\nDo the work that the brief asks for, all of it, and check it against what is expected. Then call \
         aof_task_complete, once, with the outcome that is true: nobody is helped by a gate that was passed too early. If it is \
         refused, read why, fix that, and call again."
    )
}

fn review_prompt(project: &OpenProject<'_>, arguments: &Map) -> Result<String, RpcError> {
    let Some(named) = arguments.get("task").and_then(Value::as_str) else {
        return Err(RpcError::new(INVALID_PARAMS, "`review-task` needs `task`, as in AOF-7qk"));
    };
    let ticket: Ticket =
        named.parse().map_err(|fault: IdFault| not_found(&ToolError::from(fault)))?;
    let brief = brief_of(project, &ticket).map_err(|error| not_found(&error.into()))?;
    Ok(format!(
        "Review the work of this task as its brief asks. Look at what was really done, in the files, not only at what is said of \
         it. Name each thing that must be fixed so that somebody else can fix it: where it is, what is wrong, what would be \
         right.\n\n{brief}"
    ))
}
