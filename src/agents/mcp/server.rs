//! The server of the Model Context Protocol on stdin and stdout. It translates calls of tools into operations and prints nothing
//! but the protocol. The start of the server decides who acts, never what a call says.
//!
//! One thread reads stdin, the main thread answers what needs no project, and each call that opens the project has a thread of its
//! own, so that pings and cancellations are handled meanwhile. When the client is gone or the process is asked to stop, no new call
//! begins, and all calls under way are finished and answered. At most [`MOST_CALLS`] run at once; others wait in the client's pipe.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};

use serde_json::{Value, json};

use super::json_rpc::{
    INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, RpcError, RpcMessage,
    RpcRequest, UNSUPPORTED_VERSION, answer, next_line, parse,
};
use super::next_call::next_call;
use super::open_project::{OpenProject, ServerSetup, ToolError, in_tools};
use super::resources::{
    get_prompt, list_prompts, list_resources, read_resource, resource_template,
};
use super::tool_schema::{Arguments, Tool, ToolEffect};
use super::{change_tools, complete_tool, query_tools};
use crate::domain::{AgentId, Map, TaskId, Ticket, nearest};
use crate::project::error::ProjectError;
use crate::system::terminal;
use crate::tasks::view::task_view::{show, task_value};

/// How many calls may be under way at once.
const MOST_CALLS: usize = 32;
/// How many lines are read ahead.
const READ_AHEAD: usize = 4;

/// The versions in which a conversation begins with `initialize`, oldest first.
const HANDSHAKE_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", NEWEST_HANDSHAKE];
pub(crate) const NEWEST_HANDSHAKE: &str = "2025-11-25";
/// The version in which each request names its version itself, in `_meta`.
pub(crate) const SELF_CONTAINED: &str = "2026-07-28";
pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The instructions for models, which clients show beside the tools.
const INSTRUCTIONS: &str = "\
This project hands out work as tasks. A task stands at one gate at a time; you do what the brief of that gate asks, and say how it went.
1. aof_task_next gives you your task with its brief: what is expected, and which outcomes are possible.
2. Do the work.
3. aof_task_complete says the outcome, with a summary. Where the task goes then is not your concern.
You are the agent that this server was started for; no argument changes that.
A refusal changes nothing. It says what is wrong, and `nextCall` is a call that works, with what is yours to fill in between < and >.
Work that takes long is kept yours by aof_task_renew; what you cannot do is given back by aof_task_release.
To have something done by a named process, as in \"use the feature workflow to add X\": aof_workflow_start.
Never edit the engine's fields of files under tasks/ by hand (status, gate, gateHistory, routing): such a task waits for a person.";

const READ_ONLY_INSTRUCTIONS: &str = "\
This server only shows the tasks of a project: aof_status, aof_task_list, aof_task_get, aof_workflow_list. It changes nothing.";

/// Serves one client until it is gone, or until the process is asked to stop.
pub(crate) fn serve(setup: ServerSetup) -> Result<(), ProjectError> {
    start(setup).map_err(|cause| ProjectError::Unfit {
        code: "files",
        problem: format!("the server cannot run: {cause}"),
        fix: "see whether this process may start threads and handle signals".to_owned(),
    })
}

fn start(setup: ServerSetup) -> io::Result<()> {
    let (lines, incoming) = mpsc::sync_channel(READ_AHEAD);
    let stop = ServerStop { is_requested: Arc::default(), wake: lines.clone() };
    let on_signal = stop.clone();
    terminal::on_stop(move || on_signal.request())?;
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut stdin = io::stdin().lock();
        while let Ok(Some(line)) = next_line(&mut stdin) {
            if lines.send(Some(line)).is_err() {
                return;
            }
        }
        let _ = lines.send(None);
    })?;
    let (room, leavers) = mpsc::sync_channel(MOST_CALLS);
    let server = Server { setup, stop, open: Mutex::default(), room, leavers: Mutex::new(leavers) };
    let mut lifecycle = Lifecycle::NotBegun;
    thread::scope(|scope| {
        while let Ok(Some(line)) = incoming.recv() {
            if server.stop.is_requested.load(Ordering::Relaxed) {
                return;
            }
            match line.map_err(|error| (Value::Null, error)).and_then(|line| parse(&line)) {
                Ok(RpcMessage::Request(request)) => server.handle(scope, request, &mut lifecycle),
                Ok(RpcMessage::Cancelled(id)) => {
                    lock(&server.open).entry(id.to_string()).and_modify(|wanted| *wanted = false);
                }
                Ok(RpcMessage::Ignored) => {}
                Err((id, error)) => server.write(&id, &Err(error)),
            }
        }
    });
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stops the server: calls that were read ahead do not begin.
#[derive(Clone)]
struct ServerStop {
    is_requested: Arc<AtomicBool>,
    wake: SyncSender<Option<Result<Vec<u8>, RpcError>>>,
}

impl ServerStop {
    fn request(&self) {
        self.is_requested.store(true, Ordering::Relaxed);
        // If the channel is full, the main thread has something to read, and then sees the flag.
        let _ = self.wake.try_send(None);
    }
}

struct Server {
    setup: ServerSetup,
    stop: ServerStop,
    /// The unanswered calls by their ids, and whether each still wants an answer.
    open: Mutex<HashMap<String, bool>>,
    /// Has one item for each running call, which removes it after its answer.
    room: SyncSender<()>,
    leavers: Mutex<Receiver<()>>,
}

impl Server {
    /// Answers a request, or starts a thread that does.
    fn handle<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        request: RpcRequest,
        lifecycle: &mut Lifecycle,
    ) {
        let id = request.id.to_string();
        if lock(&self.open).contains_key(&id) {
            let problem =
                format!("a request with the id {id} has no answer yet: give each an id of its own");
            // With that id, the refusal would be taken for the answer to the first request.
            return self.write(&Value::Null, &Err(RpcError::new(INVALID_REQUEST, problem)));
        }
        let version = match lifecycle.version_of(&request) {
            Ok(version) => version,
            Err(error) => return self.write(&request.id, &Err(error)),
        };
        let opens_project = matches!(
            request.method.as_str(),
            "tools/list" | "tools/call" | "resources/list" | "resources/read" | "prompts/get"
        );
        if !opens_project {
            return self.write(&request.id, &self.result(&request, version));
        }
        // Waits until fewer calls are running.
        let _ = self.room.send(());
        lock(&self.open).insert(id.clone(), true);
        if self.stop.is_requested.load(Ordering::Relaxed) {
            return;
        }
        scope.spawn(move || {
            let result = self.result(&request, version);
            // The client may reuse the id as soon as it has the answer.
            let is_wanted = lock(&self.open).remove(&id).unwrap_or(false);
            if is_wanted {
                self.write(&request.id, &result);
            }
            let _ = lock(&self.leavers).try_recv();
        });
    }

    fn write(&self, id: &Value, result: &Result<Value, RpcError>) {
        let mut stdout = io::stdout().lock();
        let line = answer(id, result);
        if stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).is_err() {
            // The client is gone: calls under way are finished, and no other begins.
            self.stop.request();
        }
    }

    /// Returns the result of a request in the form of the protocol version.
    fn result(&self, request: &RpcRequest, version: &'static str) -> Result<Value, RpcError> {
        let result = self.plain_result(request, version);
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

    fn plain_result(&self, request: &RpcRequest, version: &'static str) -> Result<Value, RpcError> {
        let setup = &self.setup;
        let server = json!({"name": "aof", "title": "Tasks and gates", "version": env!("CARGO_PKG_VERSION")});
        let capabilities = json!({"prompts": {}, "resources": {}, "tools": {}});
        let instructions = if setup.read_only { READ_ONLY_INSTRUCTIONS } else { INSTRUCTIONS };
        Ok(match request.method.as_str() {
            "initialize" => json!({
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
            "tools/call" => call_tool(setup, request.text("name")?, &request.object("arguments")?)?,
            "resources/list" => json!({"resources": list_resources(setup)}),
            "resources/templates/list" => json!({"resourceTemplates": [resource_template()]}),
            "resources/read" => read_resource(setup, request.text("uri")?)?,
            "prompts/list" => json!({"prompts": list_prompts(setup)}),
            "prompts/get" => {
                get_prompt(setup, request.text("name")?, &request.object("arguments")?)?
            }
            "completion/complete" => json!({"completion": {"values": []}}),
            method => {
                let problem = format!("there is no method `{method}`");
                return Err(RpcError::new(METHOD_NOT_FOUND, problem));
            }
        })
    }
}

/// How the conversation began, which decides whether requests name their version.
enum Lifecycle {
    NotBegun,
    /// With `initialize`, which fixed the version.
    Handshake(&'static str),
    /// With a request that names its version, as each one does from then on.
    SelfContained,
}

impl Lifecycle {
    /// Returns the protocol version of a request. Fails if it is missing or not supported.
    fn version_of(&mut self, request: &RpcRequest) -> Result<&'static str, RpcError> {
        if request.method == "initialize" {
            let asked = request.text("protocolVersion")?;
            let version = HANDSHAKE_VERSIONS.into_iter().find(|version| *version == asked);
            let version = version.unwrap_or(NEWEST_HANDSHAKE);
            *self = Self::Handshake(version);
            return Ok(version);
        }
        let is_discovery = request.method == "server/discover";
        let meta = request.object("_meta")?;
        let named = meta.get(META_VERSION).and_then(Value::as_str);
        let settled = match self {
            Self::NotBegun if request.method == "ping" => Some(NEWEST_HANDSHAKE),
            Self::Handshake(version) if !is_discovery => Some(*version),
            _ => None,
        };
        if settled.is_none() || named.is_some_and(|named| named >= SELF_CONTAINED) {
            let has_capabilities = meta.get(META_CAPABILITIES).is_some_and(Value::is_object);
            let missing = [(META_VERSION, named.is_some()), (META_CAPABILITIES, has_capabilities)];
            let missing = missing.iter().filter(|(_, is_there)| !is_there).map(|(name, _)| *name);
            let missing: Vec<&str> = missing.collect();
            if !missing.is_empty() {
                let missing = missing.join(", ");
                let problem =
                    format!("request _meta is missing or has malformed required fields: {missing}");
                return Err(RpcError::new(INVALID_PARAMS, problem));
            }
        }
        let version = match (named, settled) {
            (None, Some(settled)) => settled,
            (named, _) => supported(named.unwrap_or_default())?,
        };
        if matches!(self, Self::NotBegun) && settled.is_none() && !is_discovery {
            *self = Self::SelfContained;
        }
        Ok(version)
    }
}

fn all_versions() -> impl Iterator<Item = &'static str> {
    HANDSHAKE_VERSIONS.into_iter().chain([SELF_CONTAINED])
}

fn supported(named: &str) -> Result<&'static str, RpcError> {
    all_versions().find(|version| *version == named).ok_or_else(|| {
        let supported: Vec<&str> = all_versions().collect();
        RpcError::new(UNSUPPORTED_VERSION, "Unsupported protocol version")
            .with_data(json!({"requested": named, "supported": supported}))
    })
}

type Run = fn(&OpenProject<'_>, &Arguments) -> Result<Value, ToolError>;

/// All tools, in the order in which a model meets them, and what each does.
const ALL: &[(&Tool, Run)] = &[
    (&change_tools::NEXT, change_tools::next_task),
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
    ALL.iter().filter(move |(tool, _)| !only_looks || tool.effect == ToolEffect::Looks)
}

/// Returns the tools of this server as clients see them.
fn shown_tools(setup: &ServerSetup) -> Vec<Value> {
    let mut tools: Vec<Value> = available_tools(setup).map(|(tool, _)| tool.shown()).collect();
    let complete = tools.iter_mut().find(|tool| tool["name"] == complete_tool::COMPLETE.name);
    // Without a project, or rules in force, each call says what is wrong.
    if let Some(complete) = complete
        && let Ok(project) = setup.open("tools/list")
    {
        complete_tool::name_outcomes(&mut complete["inputSchema"], &project);
    }
    tools
}

/// Calls a tool, and returns its answer or its refusal. Fails only if no tool has that name.
fn call_tool(setup: &ServerSetup, name: &str, given: &Map) -> Result<Value, RpcError> {
    let Some((tool, run)) = available_tools(setup).find(|(tool, _)| tool.name == name) else {
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
fn refusal(error: &ToolError, setup: &ServerSetup, tool: &Tool, given: &Map) -> Value {
    let mut value = error.value();
    let mut message = value["message"].as_str().map(in_tools).unwrap_or_default();
    let project = setup.open(tool.name).ok();
    if let Some(project) = &project {
        message = project.workspace.git_commands.with_folder(message);
    }
    let state = project
        .as_ref()
        .and_then(|project| task_state(project, &refused_task(&value, project, tool, given)?));
    let agent = project.as_ref().and_then(OpenProject::viewer);
    let next = next_call(error, tool, given, state.as_ref(), agent.as_ref())
        .filter(|next| available_tools(setup).any(|(tool, _)| next["tool"] == tool.name));
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

/// Returns the task of a refused call: the one in the refusal, else the named one, else the agent's current one.
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

/// Returns the state of a task, and who can do what with it.
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
