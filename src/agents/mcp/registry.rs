//! The tools of a server, and calls of them.

use serde_json::{Value, json};

use super::arguments::Arguments;
use super::json_rpc::{INVALID_PARAMS, RpcError};
use super::next_call::next_call;
use super::schema::{Tool, ToolEffect};
use super::session::{OpenProject, ServerSetup};
use super::tool_error::{ToolError, in_tools};
use super::tools::{act, complete, look, next};
use crate::domain::{AgentId, Map, TaskId, Ticket, nearest};
use crate::tasks::view::task_view::{show, task_value};

type Run = fn(&OpenProject<'_>, &Arguments) -> Result<Value, ToolError>;

/// All tools, in the order in which a model meets them, and what each does.
const ALL: &[(&Tool, Run)] = &[
    (&next::NEXT, next::next_task),
    (&look::GET, look::get),
    (&look::LIST, look::list_tasks),
    (&complete::COMPLETE, complete::complete_task),
    (&act::RENEW, act::renew_claim),
    (&act::RELEASE, act::release_task),
    (&act::CREATE, act::create_task),
    (&act::COMMENT, act::comment_task),
    (&look::WORKFLOWS, look::list_workflows),
    (&act::START, act::start_workflow),
    (&look::STATUS, look::status),
];

/// Returns the tools that this server has.
fn listed(setup: &ServerSetup) -> impl Iterator<Item = &'static (&'static Tool, Run)> {
    let only_looks = setup.read_only;
    ALL.iter().filter(move |(tool, _)| !only_looks || tool.effect == ToolEffect::Looks)
}

/// Returns the tools of this server as clients see them.
pub(crate) fn shown(setup: &ServerSetup) -> Vec<Value> {
    listed(setup).map(|(tool, _)| tool.shown()).collect()
}

/// Calls a tool and returns its answer, also a refusal. Fails only if no tool has that name.
pub(crate) fn call(setup: &ServerSetup, name: &str, given: &Map) -> Result<Value, RpcError> {
    let Some((tool, run)) = listed(setup).find(|(tool, _)| tool.name == name) else {
        return Err(unknown_tool(setup, name));
    };
    let result = Arguments::check(tool, given.clone())
        .and_then(|arguments| run(&setup.open(name)?, &arguments));
    let is_error = result.is_err();
    let answer = result.unwrap_or_else(|error| refusal(&error, setup, tool, given));
    Ok(json!({
        "content": [{"type": "text", "text": answer.to_string()}],
        "structuredContent": answer,
        "isError": is_error,
    }))
}

fn unknown_tool(setup: &ServerSetup, given: &str) -> RpcError {
    let names: Vec<&str> = listed(setup).map(|(tool, _)| tool.name).collect();
    let problem = if ALL.iter().any(|(tool, _)| tool.name == given) {
        format!("`{given}` changes things, and this server was started with --read-only")
    } else {
        let meant =
            nearest(given, names.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
        format!("there is no tool `{given}`{}", meant.unwrap_or_default())
    };
    RpcError::new(INVALID_PARAMS, problem).with_data(json!({"tools": names}))
}

/// Returns the answer to a call that was not carried out: the fields of `--json` on the command line, where the task stands, and a
/// call that works.
fn refusal(error: &ToolError, setup: &ServerSetup, tool: &Tool, given: &Map) -> Value {
    let mut value = error.value();
    let mut message = value["message"].as_str().map(in_tools).unwrap_or_default();
    let project = setup.open(tool.name).ok();
    if let Some(project) = &project {
        message = project.workspace.git_words.said(message);
    }
    let state =
        project.as_ref().and_then(|project| state(project, &task(&value, project, tool, given)?));
    let agent = project.as_ref().and_then(OpenProject::viewer);
    let next = next_call(error, tool, given, state.as_ref(), agent.as_ref())
        .filter(|next| listed(setup).any(|(tool, _)| next["tool"] == tool.name));
    if next.is_none() && matches!(error, ToolError::Ops(_)) {
        message.push_str("\n\nNo call mends this: tell the person you work for.");
    }
    value["message"] = json!(message);
    if let Some(state) = state {
        value["state"] = state;
    }
    value["nextCall"] = next.unwrap_or(Value::Null);
    value
}

/// Returns the task that was meant: the one that the refusal is about, else the one named, else the agent's current one.
fn task(refusal: &Value, project: &OpenProject<'_>, tool: &Tool, given: &Map) -> Option<TaskId> {
    let named = refusal["task"].as_str().or_else(|| given.get("task").and_then(Value::as_str));
    let ticket: Ticket = match named {
        Some(named) => named.parse().ok()?,
        None if tool.takes_task() => project.current().ok()?,
        None => return None,
    };
    Some(ticket.task)
}

/// Returns where the task stands, and who can do what about it.
fn state(project: &OpenProject<'_>, id: &TaskId) -> Option<Value> {
    let (view, _) = show(&project.workspace, id).ok()?;
    let task = &view.file.task;
    let whole = task_value(project.rules(), &view.file, &view.path);
    Some(json!({
        "task": task.id.as_str(),
        "ticket": whole["ticket"],
        "title": task.title,
        "status": task.status.as_str(),
        "gate": task.gate.as_ref().map(|open| open.current.as_str()),
        "agent": task.routing.agent.as_ref().map(AgentId::as_str),
        "available": whole["available"],
    }))
}
