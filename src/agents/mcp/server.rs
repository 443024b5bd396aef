//! The server of the Model Context Protocol on stdin and stdout. It translates calls of tools into operations and prints nothing
//! but the protocol. The start of the server decides which agent acts; a call never does.
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

use serde_json::Value;

use super::json_rpc::{
    INVALID_REQUEST, RpcError, RpcMessage, RpcRequest, answer, next_line, parse,
};
use super::methods::result;
use super::open_project::ServerSetup;
use super::versions::Lifecycle;
use crate::project::error::ProjectError;
use crate::system::client_call::ClientCall;
use crate::system::terminal;

/// The number of calls that may be under way at once.
const MOST_CALLS: usize = 32;
/// The number of lines that are read ahead.
const READ_AHEAD: usize = 4;

/// Serves one client until it is gone, or until the process is asked to stop.
pub(crate) fn serve(setup: ServerSetup) -> Result<(), ProjectError> {
    start(setup).map_err(|cause| ProjectError::Unfit {
        code: "files",
        problem: format!("the server cannot run: {cause}"),
        fix: "see whether this process may start threads and handle signals".into(),
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
    let leavers = Arc::new(Mutex::new(leavers));
    let server = Server { setup, stop, open: Mutex::default(), room, leavers };
    let mut lifecycle = Lifecycle::NotBegun;
    thread::scope(|scope| {
        while let Ok(Some(line)) = incoming.recv() {
            if server.stop.is_requested.load(Ordering::Relaxed) {
                break;
            }
            match line.map_err(|error| (Value::Null, error)).and_then(|line| parse(&line)) {
                Ok(RpcMessage::Request(request)) => server.handle(scope, request, &mut lifecycle),
                Ok(RpcMessage::Cancelled(id)) => {
                    let call = lock(&server.open).get(&id.to_string()).cloned();
                    if let Some(call) = call {
                        call.cancel();
                    }
                }
                Ok(RpcMessage::Ignored) => {}
                Err((id, error)) => drop(server.write(&id, &Err(error))),
            }
        }
        // A call that waits for work would keep the process for minutes.
        lock(&server.open).values().for_each(|call| call.hurry());
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
    /// The unanswered calls by their ids.
    open: Mutex<HashMap<String, Arc<ClientCall>>>,
    /// A channel with one item for each running call, which removes it after its answer, or before it waits for work.
    room: SyncSender<()>,
    leavers: Arc<Mutex<Receiver<()>>>,
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
            // With that id, the client would take the refusal for the answer to the first request.
            return drop(self.write(&Value::Null, &Err(RpcError::new(INVALID_REQUEST, problem))));
        }
        let version = match lifecycle.version_of(&request) {
            Ok(version) => version,
            Err(error) => return drop(self.write(&request.id, &Err(error))),
        };
        let opens_project = matches!(
            request.method.as_str(),
            "tools/list"
                | "tools/call"
                | "resources/list"
                | "resources/read"
                | "prompts/get"
                | "completion/complete"
        );
        if !opens_project {
            return drop(self.write(&request.id, &result(&self.setup, &request, version)));
        }
        // Waits until fewer calls are running.
        let _ = self.room.send(());
        let (call, leavers) = (Arc::clone(&request.call), Arc::clone(&self.leavers));
        call.on_leave(move || {
            let _ = lock(&leavers).try_recv();
        });
        lock(&self.open).insert(id.clone(), Arc::clone(&call));
        if self.stop.is_requested.load(Ordering::Relaxed) {
            return;
        }
        scope.spawn(move || {
            let result = result(&self.setup, &request, version);
            let is_wanted = call.finish();
            // The client may reuse the id as soon as it has the answer.
            lock(&self.open).remove(&id);
            if is_wanted && self.write(&request.id, &result).is_err() {
                call.cancel();
            }
            call.leave();
        });
    }

    fn write(&self, id: &Value, result: &Result<Value, RpcError>) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        let line = answer(id, result);
        let written = stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush());
        if written.is_err() {
            // The client is gone: calls under way are finished, and no other begins.
            self.stop.request();
        }
        written
    }
}
