//! The server of the Model Context Protocol on stdin and stdout. It translates calls of tools into operations and prints nothing
//! but the protocol. Who acts is settled when the server starts, never by what a call says.
//!
//! One thread reads stdin, the main thread answers what needs no project, and each call that opens the project has a thread of its
//! own: pings and cancellations are heard meanwhile. When the client is gone or the process is asked to stop, no more is taken in,
//! and every call under way is finished and answered. While [`MOST_CALLS`] are under way, further ones wait in the client's pipe.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

use serde_json::{Value, json};

use super::json_rpc::{
    INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Message, RESOURCE_NOT_FOUND, Request,
    RpcError, UNSUPPORTED_VERSION, answer, next_line, parse,
};
use super::session::{McpError, ServerSetup};
use super::{prompts, registry, resources};
use crate::domain::Map;
use crate::system::signals;

/// How many calls may be under way at once.
const MOST_CALLS: usize = 32;
/// How many lines are read ahead.
const READ_AHEAD: usize = 4;

/// The versions in which a conversation begins with `initialize`, oldest first.
const HANDSHAKE_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The version in which each request names its version itself, in `_meta`.
const SELF_CONTAINED_VERSION: &str = "2026-07-28";
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// What every model is told of the server, whatever its client shows of the tools.
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
pub(crate) fn serve(setup: ServerSetup) -> Result<(), McpError> {
    setup.refuse_people()?;
    let (lines, incoming) = mpsc::sync_channel(READ_AHEAD);
    let stop = Stop { is_asked: Arc::default(), wake: lines.clone() };
    let on_signal = stop.clone();
    signals::on_stop(move || on_signal.ask())?;
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut stdin = io::stdin().lock();
        while let Ok(Some(line)) = next_line(&mut stdin) {
            if lines.send(Some(line)).is_err() {
                return;
            }
        }
        let _ = lines.send(None);
    })?;
    let server = Server { setup, stop, calls: CallsInFlight::default() };
    let mut lifecycle = Lifecycle::NotBegun;
    thread::scope(|scope| {
        while let Ok(Some(line)) = incoming.recv() {
            if server.stop.is_asked.load(Ordering::Relaxed) {
                return;
            }
            match line.map_err(|error| (Value::Null, error)).and_then(|line| parse(&line)) {
                Ok(Message::Request(request)) => server.take_in(scope, request, &mut lifecycle),
                Ok(Message::Cancelled(id)) => server.calls.cancel(&id),
                Ok(Message::Ignored) => {}
                Err((id, error)) => server.write(&id, &Err(error)),
            }
        }
    });
    Ok(())
}

/// Ends the reading: nothing that was read ahead is begun any more.
#[derive(Clone)]
struct Stop {
    is_asked: Arc<AtomicBool>,
    wake: SyncSender<Option<Result<Vec<u8>, RpcError>>>,
}

impl Stop {
    fn ask(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
        // Where there is no room, the main thread has something to read, and looks at the flag then.
        let _ = self.wake.try_send(None);
    }
}

struct Server {
    setup: ServerSetup,
    stop: Stop,
    calls: CallsInFlight,
}

impl Server {
    /// Answers a request, or begins a thread that will.
    fn take_in<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        request: Request,
        lifecycle: &mut Lifecycle,
    ) {
        if self.calls.is_open(&request.id) {
            let problem = format!(
                "a request with the id {} has no answer yet: give each an id of its own",
                request.id
            );
            // With the id of the first request, the refusal would be taken for its answer.
            return self.write(&Value::Null, &Err(RpcError::new(INVALID_REQUEST, problem)));
        }
        let version = match lifecycle.version_of(&request) {
            Ok(version) => version,
            Err(error) => return self.write(&request.id, &Err(error)),
        };
        let opens_project = matches!(
            request.method.as_str(),
            "tools/call" | "resources/list" | "resources/read" | "prompts/get"
        );
        if !opens_project {
            return self.write(&request.id, &self.result(&request, version));
        }
        self.calls.begin(&request.id);
        if self.stop.is_asked.load(Ordering::Relaxed) {
            return;
        }
        scope.spawn(move || {
            let result = self.result(&request, version);
            if self.calls.finish(&request.id) {
                self.write(&request.id, &result);
            }
            self.calls.leave();
        });
    }

    fn write(&self, id: &Value, result: &Result<Value, RpcError>) {
        let mut stdout = io::stdout().lock();
        let line = answer(id, result);
        if stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).is_err() {
            // Nobody reads any more: what is under way is finished, and nothing else begun.
            self.stop.ask();
        }
    }

    /// Returns the result of a request as the version shows it.
    fn result(&self, request: &Request, version: &'static str) -> Result<Value, RpcError> {
        let is_self_contained = version == SELF_CONTAINED_VERSION;
        let result = self.plain_result(request, version);
        if !is_self_contained {
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

    fn plain_result(&self, request: &Request, version: &'static str) -> Result<Value, RpcError> {
        let setup = &self.setup;
        let server = json!({"name": "aof", "title": "Tasks and gates", "version": env!("CARGO_PKG_VERSION")});
        let capabilities = json!({"prompts": {}, "resources": {}, "tools": {}});
        let instructions = if setup.only_looks() { READ_ONLY_INSTRUCTIONS } else { INSTRUCTIONS };
        Ok(match request.method.as_str() {
            "initialize" => json!({
                "protocolVersion": version,
                "capabilities": capabilities,
                "serverInfo": server,
                "instructions": instructions,
            }),
            "server/discover" => {
                let mut versions = HANDSHAKE_VERSIONS.to_vec();
                versions.push(SELF_CONTAINED_VERSION);
                json!({
                    "supportedVersions": versions,
                    "capabilities": capabilities,
                    "instructions": instructions,
                    "_meta": {"io.modelcontextprotocol/serverInfo": server},
                })
            }
            "ping" if version != SELF_CONTAINED_VERSION => json!({}),
            "tools/list" => json!({"tools": registry::shown(setup)}),
            "tools/call" => {
                registry::call(setup, request.text("name")?, &request.object("arguments")?)?
            }
            "resources/list" => json!({"resources": resources::listed(setup)}),
            "resources/templates/list" => json!({"resourceTemplates": [resources::template()]}),
            "resources/read" => resources::read(setup, request.text("uri")?)?,
            "prompts/list" => json!({"prompts": prompts::listed(setup)}),
            "prompts/get" => {
                prompts::get(setup, request.text("name")?, &request.object("arguments")?)?
            }
            "completion/complete" => json!({"completion": {"values": []}}),
            method => {
                let problem = format!("there is no method `{method}`");
                return Err(RpcError::new(METHOD_NOT_FOUND, problem));
            }
        })
    }
}

/// How the conversation began, which decides what a request has to say of its version.
enum Lifecycle {
    NotBegun,
    /// With `initialize`, which settled the version.
    Handshake(&'static str),
    /// With a request that names its version, as each one does from then on.
    SelfContained,
}

impl Lifecycle {
    /// Returns the protocol version of a request. Fails where it is not said, or not supported.
    fn version_of(&mut self, request: &Request) -> Result<&'static str, RpcError> {
        let [.., newest] = HANDSHAKE_VERSIONS;
        if request.method == "initialize" {
            let asked = request.text("protocolVersion")?;
            let version = HANDSHAKE_VERSIONS.into_iter().find(|version| *version == asked);
            *self = Self::Handshake(version.unwrap_or(newest));
            return Ok(version.unwrap_or(newest));
        }
        let meta = request.object("_meta")?;
        let named = meta.get(META_VERSION).and_then(Value::as_str);
        let settled = match self {
            Self::NotBegun if request.method == "ping" => Some(newest),
            Self::Handshake(version) if request.method != "server/discover" => Some(*version),
            _ => None,
        };
        let is_self_contained = named.is_some_and(|named| named >= SELF_CONTAINED_VERSION);
        if settled.is_none() || is_self_contained {
            require(&meta)?;
        }
        let version = match (named, settled) {
            (None, Some(settled)) => settled,
            (named, _) => supported(named.unwrap_or_default())?,
        };
        if matches!(self, Self::NotBegun)
            && settled.is_none()
            && request.method != "server/discover"
        {
            *self = Self::SelfContained;
        }
        Ok(version)
    }
}

fn require(meta: &Map) -> Result<(), RpcError> {
    let is_there = [
        (META_VERSION, meta.get(META_VERSION).is_some_and(Value::is_string)),
        (META_CAPABILITIES, meta.get(META_CAPABILITIES).is_some_and(Value::is_object)),
    ];
    let missing: Vec<&str> =
        is_there.iter().filter(|(_, is_there)| !is_there).map(|(name, _)| *name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let problem = format!(
        "request _meta is missing or has malformed required fields: {}",
        missing.join(", ")
    );
    Err(RpcError::new(INVALID_PARAMS, problem))
}

fn supported(named: &str) -> Result<&'static str, RpcError> {
    let mut versions = HANDSHAKE_VERSIONS.to_vec();
    versions.push(SELF_CONTAINED_VERSION);
    versions.iter().find(|version| **version == named).copied().ok_or_else(|| {
        RpcError::new(UNSUPPORTED_VERSION, "Unsupported protocol version")
            .with_data(json!({"requested": named, "supported": versions}))
    })
}

/// The calls that have a thread, and which of them still want an answer.
#[derive(Default)]
struct CallsInFlight {
    state: Mutex<CallState>,
    left: Condvar,
}

#[derive(Default)]
struct CallState {
    /// Whether each request without an answer still wants one.
    open: HashMap<String, bool>,
    /// How many threads work at a call or write its answer.
    threads: usize,
}

impl CallsInFlight {
    fn state(&self) -> MutexGuard<'_, CallState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_open(&self, id: &Value) -> bool {
        self.state().open.contains_key(&id.to_string())
    }

    /// Waits until there is room for one more call, and takes it.
    fn begin(&self, id: &Value) {
        let mut state = self
            .left
            .wait_while(self.state(), |state| state.threads >= MOST_CALLS)
            .unwrap_or_else(PoisonError::into_inner);
        state.threads += 1;
        state.open.insert(id.to_string(), true);
    }

    fn cancel(&self, id: &Value) {
        if let Some(is_wanted) = self.state().open.get_mut(&id.to_string()) {
            *is_wanted = false;
        }
    }

    /// Frees the id of a call: a client may use it again as soon as it has read the answer. Returns whether the answer is wanted.
    fn finish(&self, id: &Value) -> bool {
        self.state().open.remove(&id.to_string()).unwrap_or(false)
    }

    /// Gives up the room of a call whose answer is written.
    fn leave(&self) {
        self.state().threads -= 1;
        self.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_held_until_the_answer_is_written_and_ids_are_free_before() {
        let calls = CallsInFlight::default();
        for id in 0..MOST_CALLS {
            calls.begin(&json!(id));
        }
        calls.cancel(&json!(1));
        assert!(calls.is_open(&json!(1)), "a cancelled call is worked on still");
        assert!(calls.finish(&json!(0)) && !calls.finish(&json!(1)));
        assert!(!calls.is_open(&json!(0)));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| calls.begin(&json!("more")));
            thread::sleep(std::time::Duration::from_millis(20));
            assert!(!waiting.is_finished());
            calls.leave();
        });
        assert!(calls.is_open(&json!("more")));
    }
}
