//! Messages of agents. Each has a thread of its own, since a call may wait for work; a client that hangs up cancels its call.

use std::io;
use std::mem::take;
use std::sync::Arc;
use std::thread;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use tokio::sync::{Semaphore, oneshot};

use super::access::bearer;
use super::request::{PageAnswer, WebFault};
use super::site::{AgentPost, AgentReply, BoardSite};
use crate::system::client_call::ClientCall;

/// The number of calls that may be under way at once, besides those that wait for work.
const MOST_CALLS: usize = 16;

static ROOM: Semaphore = Semaphore::const_new(MOST_CALLS);

/// Cancels the call if it is dropped before the answer is there.
struct Connection(Option<Arc<ClientCall>>);

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(call) = take(&mut self.0) {
            // A claim may have to be released, and no other request may wait for that.
            thread::spawn(move || call.cancel());
        }
    }
}

/// Answers an agent with a token.
pub(super) async fn agent_message(
    State(site): State<Arc<BoardSite>>,
    headers: HeaderMap,
    body: Bytes,
) -> PageAnswer {
    let text = |name: &str| headers.get(name).map(|value| value.as_bytes().to_vec());
    let call = Arc::new(ClientCall::default());
    let mut connection = Connection(Some(Arc::clone(&call)));
    let message = AgentPost {
        token: bearer(&headers).unwrap_or_default().to_owned(),
        version: text("mcp-protocol-version"),
        method: text("mcp-method"),
        name: text("mcp-name"),
        body: body.to_vec(),
        call: Arc::clone(&call),
    };
    if let Ok(place) = ROOM.acquire().await {
        call.on_leave(move || drop(place));
    }
    let (answered, answer) = oneshot::channel();
    let run = move || {
        let reply = (site.agents)(&message);
        message.call.leave();
        drop(answered.send(reply));
    };
    let started = thread::Builder::new().name("agent".to_owned()).spawn(run);
    let reply = match started {
        Ok(_) => answer.await.map_err(io::Error::other),
        Err(cause) => Err(cause),
    };
    connection.0 = None;
    let fault = |_| {
        let (problem, fix) = ("the call cannot be answered", "report it as a bug of aof");
        WebFault::new(StatusCode::INTERNAL_SERVER_ERROR, problem, fix)
    };
    Ok(response(reply.map_err(fault)?))
}

fn response(reply: Option<AgentReply>) -> Response {
    let Some((status, body)) = reply else {
        let why = "no agent has this token; `aof mcp token AGENT` makes one\n";
        return (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], why).into_response();
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match body {
        Some(body) => (status, [(CONTENT_TYPE, "application/json")], body).into_response(),
        None => status.into_response(),
    }
}
