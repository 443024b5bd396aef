//! The methods of the protocol: from a request to its result, over stdin and over HTTP alike.

use serde_json::{Value, json};

use super::completions::complete_argument;
use super::json_rpc::{INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, RpcError, RpcRequest};
use super::next_call::next_call;
use super::open_project::{OpenProject, ServerSetup, ToolError};
use super::resources::{
    get_prompt, list_prompts, list_resources, read_resource, resource_template,
};
use super::tool_schema::Tool;
use super::versions::{SELF_CONTAINED, all_versions};
use super::{change_tools, complete_tool, next_tool, query_tools};
use crate::domain::{AgentId, Map, TaskId, Ticket, nearest};
use crate::operations::Effect;
use crate::operations::arguments::Arguments;
use crate::tasks::view::task_view::{show, task_value};

/// The instructions for models, which clients show beside the tools.
const INSTRUCTIONS: &str = "\
This project hands out work as tasks. A task stands at one gate at a time; you do what the brief of that gate asks, and say how it went.
1. aof_task_next gives you your task with its brief: what is expected, and which outcomes are possible.
2. Do the work.
3. aof_task_complete says the outcome, with a summary. Where the task goes then is not your concern.
You are the same agent in all calls; no argument changes that.
A refusal changes nothing. It says what is wrong, and `nextCall` is a call that works, with what is yours to fill in between < and >.
Work that takes long is kept yours by aof_task_renew; what you cannot do is given back by aof_task_release.
To have something done by a named process, as in \"use the feature workflow to add X\": aof_workflow_start.
Never edit the engine's fields of files under tasks/ by hand (status, gate, gateHistory, routing): such a task waits for a person.";

const READ_ONLY_INSTRUCTIONS: &str = "\
This server only shows the tasks of a project: aof_status, aof_task_list, aof_task_get, aof_workflow_list. It changes nothing.";

/// Returns the result of a request in the form of the protocol version.
pub(crate) fn result(
    setup: &ServerSetup,
    request: &RpcRequest,
    version: &'static str,
) -> Result<Value, RpcError> {
    let result = plain_result(setup, request, version);
    if version != SELF_CONTAINED {
        return result;
    }
    let result = result.map_err(|error| match error.code {
        RESOURCE_NOT_FOUND => RpcError { code: INVALID_PARAMS, ..error },
        _ => error,
    })?;
    let mut whole = json!({"resultType": "complete"});
    let is_cacheable = request.method.ends_with("/list")
        || matches!(request.method.as_str(), "resources/read" | "server/discover");
    if is_cacheable {
        whole["ttlMs"] = json!(0);
        whole["cacheScope"] = json!("private");
    }
    for (key, value) in result.as_object().into_iter().flatten() {
        whole[key] = value.clone();
    }
    Ok(whole)
}

fn plain_result(
    setup: &ServerSetup,
    request: &RpcRequest,
    version: &'static str,
) -> Result<Value, RpcError> {
    let server =
        json!({"name": "aof", "title": "Tasks and gates", "version": env!("CARGO_PKG_VERSION")});
    let capabilities = json!({"completions": {}, "prompts": {}, "resources": {}, "tools": {}});
    let instructions = if setup.read_only { READ_ONLY_INSTRUCTIONS } else { INSTRUCTIONS };
    Ok(match request.method.as_str() {
        "initialize" if version != SELF_CONTAINED => json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "serverInfo": server,
            "instructions": instructions,
        }),
        "server/discover" => json!({
            "supportedVersions": all_versions().collect::<Vec<_>>(),
            "capabilities": capabilities,
            "instructions": instructions,
            "_meta": {"io.modelcontextprotocol/serverInfo": server},
        }),
        "ping" if version != SELF_CONTAINED => json!({}),
        "tools/list" => json!({"tools": shown_tools(setup)}),
        "tools/call" => call_tool(setup, request)?,
        "resources/list" => json!({"resources": list_resources(setup)}),
        "resources/templates/list" => json!({"resourceTemplates": [resource_template()]}),
        "resources/read" => read_resource(setup, request.text("uri")?)?,
        "prompts/list" => json!({"prompts": list_prompts(setup)}),
        "prompts/get" => get_prompt(setup, request.text("name")?, &request.object("arguments")?)?,
        "completion/complete" => complete_argument(setup, request)?,
        method => {
            let problem = format!("there is no method `{method}`");
            return Err(RpcError::new(METHOD_NOT_FOUND, problem));
        }
    })
}

type Run = fn(&OpenProject<'_>, &Arguments) -> Result<Value, ToolError>;

/// All tools, in the order in which a model uses them, with their functions.
const ALL: &[(&Tool, Run)] = &[
    (&next_tool::NEXT, next_tool::next_task),
    (&query_tools::GET, query_tools::get),
    (&query_tools::LIST, query_tools::list_tasks),
    (&complete_tool::COMPLETE, complete_tool::complete_task),
    (&change_tools::RENEW, change_tools::renew_claim),
    (&change_tools::RELEASE, change_tools::release_task),
    (&change_tools::CREATE, change_tools::create_task),
    (&change_tools::COMMENT, change_tools::comment_task),
    (&query_tools::WORKFLOWS, query_tools::list_workflows),
    (&change_tools::START, change_tools::start_workflow),
    (&query_tools::STATUS, query_tools::status),
];

/// Returns the tools of this server.
fn available_tools(setup: &ServerSetup) -> impl Iterator<Item = &'static (&'static Tool, Run)> {
    let only_looks = setup.read_only;
    ALL.iter().filter(move |(tool, _)| !only_looks || tool.effect == Effect::Reads)
}

/// Returns the tools of this server as clients see them.
fn shown_tools(setup: &ServerSetup) -> Vec<Value> {
    let mut tools: Vec<Value> = available_tools(setup).map(|(tool, _)| tool.shown()).collect();
    let complete = tools.iter_mut().find(|tool| tool["name"] == complete_tool::COMPLETE.name);
    // Without a project, or rules in force, each call reports the reason.
    if let Some(complete) = complete
        && let Ok(project) = setup.open("tools/list")
    {
        complete_tool::name_outcomes(&mut complete["inputSchema"], &project);
    }
    tools
}

/// Calls a tool, and returns its answer or its refusal. Fails only if no tool has that name.
fn call_tool(setup: &ServerSetup, request: &RpcRequest) -> Result<Value, RpcError> {
    let (name, given) = (request.text("name")?, &request.object("arguments")?);
    let Some((tool, run)) = available_tools(setup).find(|(tool, _)| tool.name == name) else {
        return Err(unknown_tool(setup, name));
    };
    let result = tool
        .check(given.clone())
        .map_err(ToolError::from)
        .and_then(|arguments| run(&setup.open(name)?.for_client(&request.call), &arguments));
    let is_error = result.is_err();
    let answer = result.unwrap_or_else(|error| refusal(&error, setup, (tool, *run), given));
    Ok(json!({
        "content": [{"type": "text", "text": answer.to_string()}],
        "structuredContent": answer,
        "isError": is_error,
    }))
}

fn unknown_tool(setup: &ServerSetup, given: &str) -> RpcError {
    let names: Vec<&str> = available_tools(setup).map(|(tool, _)| tool.name).collect();
    let problem = if ALL.iter().any(|(tool, _)| tool.name == given) {
        format!("`{given}` changes things, and this server was started with --read-only")
    } else {
        let suggestion =
            nearest(given, names.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
        format!("there is no tool `{given}`{}", suggestion.unwrap_or_default())
    };
    RpcError::new(INVALID_PARAMS, problem).with_data(json!({"tools": names}))
}

/// Returns the answer to a refused call: the error as on the command line, the state of the task, and a call that works.
fn refusal(
    error: &ToolError,
    setup: &ServerSetup,
    (tool, run): (&Tool, Run),
    given: &Map,
) -> Value {
    let mut value = error.value();
    let mut message = error.message();
    let project = setup.open(tool.name).ok();
    if let Some(project) = &project {
        message = project.workspace.git_commands.with_folder(message);
    }
    let state = project
        .as_ref()
        .and_then(|project| task_state(project, &refused_task(&value, project, tool, given)?));
    let agent = project.as_ref().and_then(OpenProject::viewer);
    let advised = |error: &ToolError, given: &Map| {
        let next = next_call(error, tool, given, state.as_ref(), agent.as_ref());
        next.filter(|next| available_tools(setup).any(|(tool, _)| next["tool"] == tool.name))
    };
    let mut next = advised(error, given);
    // Several arguments may be wrong: the corrected call is tried, without effect, until it has no further fault.
    for _ in tool.fields() {
        let Some(given) = next.as_ref().filter(|next| next["tool"] == tool.name) else { break };
        let Some(given) = given["arguments"].as_object() else { break };
        // Arguments that are left to the agent would hide the faults of the others.
        let (open, given): (Map, Map) =
            given.clone().into_iter().partition(|(name, value)| tool.is_left_to_agent(name, value));
        let tried = tool
            .check(given.clone())
            .map_err(ToolError::from)
            .and_then(|arguments| run(&setup.open(tool.name)?.for_trial(), &arguments));
        let further = tried.err().and_then(|error| {
            let mut further = advised(&error, &given)?;
            let is_same_tool = further["tool"] == tool.name;
            // The rules refuse a call as a whole: their refusal counts only if nothing is left to the agent.
            let counts = error.is_of_argument() || is_same_tool && open.is_empty();
            if let Some(map) = further["arguments"].as_object_mut().filter(|_| is_same_tool) {
                map.extend(open);
            }
            counts.then_some(further)
        });
        match further {
            Some(further) if Some(&further) != next.as_ref() => next = Some(further),
            _ => break,
        }
    }
    if next.is_none() && matches!(error, ToolError::Ops(_)) {
        message.push_str("\n\nNo call fixes this: tell the person you work for.");
    }
    value["message"] = json!(message);
    if let Some(state) = state {
        value["state"] = state;
    }
    value["nextCall"] = next.unwrap_or(Value::Null);
    value
}

/// Returns the task of a refused call: that of the refusal, otherwise the named one, otherwise the agent's current one.
fn refused_task(
    refusal: &Value,
    project: &OpenProject<'_>,
    tool: &Tool,
    given: &Map,
) -> Option<TaskId> {
    let named = refusal["task"].as_str().or_else(|| given.get("task").and_then(Value::as_str));
    let ticket: Ticket = match named {
        Some(named) => named.parse().ok()?,
        None if tool.takes_task() => project.current().ok()?,
        None => return None,
    };
    Some(ticket.task)
}

/// Returns the state of a task, with the agents that may act and their possible outcomes.
fn task_state(project: &OpenProject<'_>, id: &TaskId) -> Option<Value> {
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
