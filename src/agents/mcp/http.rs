//! The streamable HTTP transport of the Model Context Protocol: one POST, one message, one answer in JSON. There are no streams, so
//! GET is answered with 405, and no sessions: each request names its version itself, and a token identifies the agent.
//!
//! The web server checks `Origin` and the token, and calls [`answer_post`] on a thread that may block.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::json_rpc::{
    HEADER_MISMATCH, INVALID_REQUEST, LONGEST, METHOD_NOT_FOUND, PARSE_ERROR, RpcError, RpcMessage,
    RpcRequest, answer, parse,
};
use super::methods::result;
use super::open_project::ServerSetup;
use super::versions::{Lifecycle, META_VERSION, SELF_CONTAINED, supported};
use crate::domain::AgentId;
use crate::project::workspace::{Clock, Network};
use crate::system::client_call::ClientCall;

/// The version of a request without a header that names one: the last version without this header.
const WITHOUT_HEADER: &str = "2025-03-26";

/// The headers of a POST that the protocol reads.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PostHeaders<'h> {
    /// `MCP-Protocol-Version`
    pub version: Option<&'h [u8]>,
    /// `Mcp-Method`
    pub method: Option<&'h [u8]>,
    /// `Mcp-Name`
    pub name: Option<&'h [u8]>,
}

/// The answer to a POST. A body is `application/json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpAnswer {
    pub status: u16,
    pub body: Option<String>,
}

impl HttpAnswer {
    fn error(status: u16, id: &Value, error: RpcError) -> Self {
        Self { status, body: Some(answer(id, &Err(error))) }
    }
}

/// Returns the options of a server for the requests of an agent that has shown its token.
pub(crate) fn setup_of_token(
    directory: &Path,
    agent: &AgentId,
    wait: Duration,
    clock: Clock,
) -> ServerSetup {
    ServerSetup {
        directory: directory.to_owned(),
        agent: Some(agent.to_string()),
        by_token: true,
        run: None,
        // Requests are independent, so an agent's sessions cannot be distinguished: all of them count as one.
        session: format!("http:{agent}"),
        read_only: false,
        network: Network::Used,
        wait,
        clock,
    }
}

/// The calls under way, each with its session and the id of its request.
#[derive(Debug, Default)]
pub(crate) struct HttpCalls(Mutex<Vec<(String, Value, Arc<ClientCall>)>>);

impl HttpCalls {
    fn all(&self) -> MutexGuard<'_, Vec<(String, Value, Arc<ClientCall>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels the call of a session with that id. If two clients of an agent use the same id, neither is cancelled.
    fn cancel(&self, session: &str, id: &Value) {
        let all = self.all();
        let mut meant = all.iter().filter(|(of, own, _)| of == session && own == id);
        let found = meant.next().filter(|_| meant.next().is_none());
        let call = found.map(|(_, _, call)| Arc::clone(call));
        drop(all);
        if let Some(call) = call {
            call.cancel();
        }
    }
}

/// Answers the message in the body of a POST. `call` is cancelled if the client hangs up.
pub(crate) fn answer_post(
    setup: &ServerSetup,
    headers: &PostHeaders<'_>,
    body: &[u8],
    (calls, call): (&HttpCalls, &Arc<ClientCall>),
) -> HttpAnswer {
    if body.len() > LONGEST {
        let problem = format!("a message has at most {LONGEST} bytes");
        return HttpAnswer::error(413, &Value::Null, RpcError::new(INVALID_REQUEST, problem));
    }
    if body.trim_ascii().is_empty() {
        let error = RpcError::new(PARSE_ERROR, "the body has no message");
        return HttpAnswer::error(400, &Value::Null, error);
    }
    match parse(body) {
        Ok(RpcMessage::Request(request)) => {
            let (id, call) = (request.id.clone(), Arc::clone(call));
            calls.all().push((setup.session.clone(), id, Arc::clone(&call)));
            let request = RpcRequest { call: Arc::clone(&call), ..request };
            let answer = answer_request(setup, headers, &request);
            let is_wanted = call.finish();
            calls.all().retain(|(_, _, other)| !Arc::ptr_eq(other, &call));
            if is_wanted {
                return answer;
            }
            let error = RpcError::new(INVALID_REQUEST, "the request was cancelled");
            HttpAnswer::error(200, &request.id, error)
        }
        Ok(other) => match header_version(headers) {
            Ok(_) => {
                if let RpcMessage::Cancelled(id) = other {
                    calls.cancel(&setup.session, &id);
                }
                HttpAnswer { status: 202, body: None }
            }
            Err(error) => HttpAnswer::error(400, &Value::Null, error),
        },
        Err((id, error)) => HttpAnswer::error(400, &id, error),
    }
}

fn answer_request(
    setup: &ServerSetup,
    headers: &PostHeaders<'_>,
    request: &RpcRequest,
) -> HttpAnswer {
    let version = match version_of(request, headers) {
        Ok(version) => version,
        Err(error) => return HttpAnswer::error(400, &request.id, error),
    };
    let result = result(setup, request, version);
    let status = match &result {
        // For clients of earlier versions, 404 means that their session is over.
        Err(error) if error.code == METHOD_NOT_FOUND && version == SELF_CONTAINED => 404,
        _ => 200,
    };
    HttpAnswer { status, body: Some(answer(&request.id, &result)) }
}

fn header_version(headers: &PostHeaders<'_>) -> Result<&'static str, RpcError> {
    headers.version.map_or(Ok(WITHOUT_HEADER), |named| supported(&String::from_utf8_lossy(named)))
}

/// Returns the version of a request. Fails if it is unknown, or if headers and body do not agree.
fn version_of(request: &RpcRequest, headers: &PostHeaders<'_>) -> Result<&'static str, RpcError> {
    let meta = request.object("_meta")?;
    // This comparison is first: a header that differs is the fault, even if the version of the body is unknown.
    if let (Some(_), Some(stated)) =
        (headers.version, meta.get(META_VERSION).and_then(Value::as_str))
    {
        check_header("MCP-Protocol-Version", headers.version, stated)?;
    }
    let named = header_version(headers)?;
    // The header replaces what the beginning of a conversation decides on stdin.
    let mut lifecycle = match named {
        SELF_CONTAINED => Lifecycle::SelfContained,
        _ => Lifecycle::Handshake(named),
    };
    let version = lifecycle.version_of(request)?;
    let begins_handshake = request.method == "initialize" && version != SELF_CONTAINED;
    if !begins_handshake && (version == SELF_CONTAINED || named == SELF_CONTAINED) {
        check_headers(request, headers, version)?;
    }
    Ok(version)
}

/// Fails unless the headers repeat the values of the body: proxies may have used the headers.
fn check_headers(
    request: &RpcRequest,
    headers: &PostHeaders<'_>,
    version: &str,
) -> Result<(), RpcError> {
    let name = match request.method.as_str() {
        "tools/call" | "prompts/get" => Some(request.text("name")?),
        "resources/read" => Some(request.text("uri")?),
        _ => None,
    };
    let all = [
        ("MCP-Protocol-Version", headers.version, Some(version)),
        ("Mcp-Method", headers.method, Some(request.method.as_str())),
        ("Mcp-Name", headers.name, name),
    ];
    for (header, given, wanted) in all {
        wanted.map_or(Ok(()), |wanted| check_header(header, given, wanted))?;
    }
    Ok(())
}

fn check_header(header: &str, given: Option<&[u8]>, wanted: &str) -> Result<(), RpcError> {
    if given.is_some_and(|given| is_header_of(wanted, given)) {
        return Ok(());
    }
    let given = given.map_or("missing".to_owned(), |given| {
        format!("`{}`", String::from_utf8_lossy(given).escape_debug())
    });
    let problem = format!("Header mismatch: `{header}` is {given}, the body says `{wanted}`");
    Err(RpcError::new(HEADER_MISMATCH, problem))
}

/// Returns true if a header has that value, which clients encode if it is not plain ASCII.
fn is_header_of(wanted: &str, given: &[u8]) -> bool {
    given == wanted.as_bytes()
        || given == format!("=?base64?{}?=", STANDARD.encode(wanted)).as_bytes()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use jiff::Timestamp;
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;
    use crate::agents::mcp::versions::{META_CAPABILITIES, NEWEST_HANDSHAKE};

    /// Answers a POST outside of any project.
    fn post(headers: &PostHeaders<'_>, body: &str) -> HttpAnswer {
        let home = TempDir::new().unwrap();
        let agent = "agent-7".parse().unwrap();
        let setup = setup_of_token(home.path(), &agent, Duration::ZERO, || Timestamp::UNIX_EPOCH);
        let answer =
            answer_post(&setup, headers, body.as_bytes(), (&HttpCalls::default(), &Arc::default()));
        let home = home.path().display().to_string();
        HttpAnswer { body: answer.body.map(|body| body.replace(&home, "HOME")), ..answer }
    }

    /// Returns the status, and the beginning of the body.
    fn shown(answer: &HttpAnswer) -> String {
        let body = answer.body.as_deref().unwrap_or("-").trim_end();
        let cut = body.char_indices().nth(118).map_or(body.len(), |(at, _)| at);
        format!("{} {}", answer.status, body[..cut].trim_end())
    }

    #[test]
    fn each_post_is_answered_by_itself() {
        let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
        let ping = r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#;
        let table = [
            (None, hello),
            (Some("2025-11-25"), hello),
            (None, ping),
            (Some("2025-06-18"), ping),
            (Some("2031-01-01"), ping),
            (Some("not-a-version"), ping),
            (None, r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#),
            (None, r#"{"jsonrpc":"2.0","id":3,"method":"nothing/known"}"#),
            (None, r#"{"jsonrpc":"2.0","id":4,"method":"server/discover"}"#),
            (
                None,
                r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"aof_task_nxt"}}"#,
            ),
            (
                None,
                r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"aof_status"}}"#,
            ),
            (None, r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}"#),
            (None, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            (
                None,
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
            ),
            (Some("2031-01-01"), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            (None, r#"{"jsonrpc":"2.0","id":8,"result":{}}"#),
            (None, "{not json"),
            (None, "[]"),
            (None, r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#),
            (None, "\n"),
        ];
        let mut lines = Vec::new();
        for (version, body) in table {
            let headers =
                PostHeaders { version: version.map(str::as_bytes), ..PostHeaders::default() };
            let answer = post(&headers, body);
            lines.push(format!("{body} {}\n  {}", version.unwrap_or("-"), shown(&answer)));
        }
        assert_snapshot!(lines.join("\n"), @r#"
        {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}} -
          200 {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"completions":{},"prompts":{},"resour
        {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}} 2025-11-25
          200 {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"completions":{},"prompts":{},"resour
        {"jsonrpc":"2.0","id":"a","method":"ping"} -
          200 {"jsonrpc":"2.0","id":"a","result":{}}
        {"jsonrpc":"2.0","id":"a","method":"ping"} 2025-06-18
          200 {"jsonrpc":"2.0","id":"a","result":{}}
        {"jsonrpc":"2.0","id":"a","method":"ping"} 2031-01-01
          400 {"jsonrpc":"2.0","id":"a","error":{"code":-32022,"message":"Unsupported protocol version","data":{"requested":"2031-01
        {"jsonrpc":"2.0","id":"a","method":"ping"} not-a-version
          400 {"jsonrpc":"2.0","id":"a","error":{"code":-32022,"message":"Unsupported protocol version","data":{"requested":"not-a-v
        {"jsonrpc":"2.0","id":2,"method":"tools/list"} -
          200 {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"aof_task_next","title":"Take the next task","description":"Take yo
        {"jsonrpc":"2.0","id":3,"method":"nothing/known"} -
          200 {"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"there is no method `nothing/known`"}}
        {"jsonrpc":"2.0","id":4,"method":"server/discover"} -
          400 {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"request _meta is missing or has malformed required fields: i
        {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"aof_task_nxt"}} -
          200 {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"there is no tool `aof_task_nxt`; did you mean `aof_task_next
        {"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"aof_status"}} -
          200 {"jsonrpc":"2.0","id":6,"result":{"content":[{"type":"text","text":"{\"error\":\"no_project\",\"message\":\"no project
        {"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]} -
          400 {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"the parameters of `tools/call` are malformed: `params` is no
        {"jsonrpc":"2.0","method":"notifications/initialized"} -
          202 -
        {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}} -
          202 -
        {"jsonrpc":"2.0","method":"notifications/initialized"} 2031-01-01
          400 {"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"requested":"2031-0
        {"jsonrpc":"2.0","id":8,"result":{}} -
          202 -
        {not json -
          400 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is not JSON: key must be a string (line 1, column 2)
        [] -
          400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"
        {"jsonrpc":"2.0","id":null,"method":"ping"} -
          400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the `id` of a request is a text or a whole number"}}

         -
          400 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body has no message"}}
        "#);
        let long = format!("{{\"x\":\"{}\"}}", "x".repeat(LONGEST));
        assert_eq!(post(&PostHeaders::default(), &long).status, 413);
    }

    #[test]
    fn headers_repeat_a_self_contained_request() {
        let with = |method: &str, mut params: Value, version: &str| {
            params["_meta"] = json!({META_VERSION: version, META_CAPABILITIES: {}});
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
        };
        let call = with("tools/call", json!({"name": "aof_status"}), SELF_CONTAINED);
        let list = with("tools/list", json!({}), SELF_CONTAINED);
        let read = with("resources/read", json!({"uri": "aof://task/Ä"}), SELF_CONTAINED);
        let none = with("nothing/known", json!({}), SELF_CONTAINED);
        let old = with("tools/list", json!({}), NEWEST_HANDSHAKE);
        let unknown = with("server/discover", json!({}), "2031-01-01");
        let hello = with("initialize", json!({}), SELF_CONTAINED);
        let bare = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned();
        let new = Some(SELF_CONTAINED);
        let table = [
            (&call, new, Some("tools/call"), Some("aof_status")),
            (&call, new, Some("tools/call"), Some("=?base64?YW9mX3N0YXR1cw==?=")),
            (&call, new, Some("tools/call"), Some("aof_task_next")),
            (&call, new, Some("tools/call"), None),
            (&call, new, None, Some("aof_status")),
            (&call, new, Some("tools/list"), Some("aof_status")),
            (&call, None, Some("tools/call"), Some("aof_status")),
            (&call, Some(NEWEST_HANDSHAKE), Some("tools/call"), Some("aof_status")),
            (&list, new, Some("tools/list"), None),
            (&read, new, Some("resources/read"), Some("=?base64?YW9mOi8vdGFzay/DhA==?=")),
            (&none, new, Some("nothing/known"), None),
            (&old, new, Some("tools/list"), None),
            (&bare, new, Some("tools/list"), None),
            (&unknown, new, Some("server/discover"), None),
            (&unknown, Some("2031-01-01"), Some("server/discover"), None),
            (&list, Some("2031-01-01"), Some("tools/list"), None),
            (&hello, new, Some("initialize"), None),
            (&hello, None, Some("initialize"), None),
        ];
        let mut lines = Vec::new();
        for (body, version, method, name) in table {
            let [v, m, n] = [version, method, name].map(|given| given.map(str::as_bytes));
            let answer = post(&PostHeaders { version: v, method: m, name: n }, body);
            let given = [version, method, name].map(|given| given.unwrap_or("-")).join(" ");
            lines.push(format!("{given}\n  {}", shown(&answer)));
        }
        assert_snapshot!(lines.join("\n"), @r#"
        2026-07-28 tools/call aof_status
          200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"{\"error\":\"no_project\",
        2026-07-28 tools/call =?base64?YW9mX3N0YXR1cw==?=
          200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"{\"error\":\"no_project\",
        2026-07-28 tools/call aof_task_next
          400 {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Header mismatch: `Mcp-Name` is `aof_task_next`, the body say
        2026-07-28 tools/call -
          400 {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Header mismatch: `Mcp-Name` is missing, the body says `aof_s
        2026-07-28 - aof_status
          400 {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Header mismatch: `Mcp-Method` is missing, the body says `too
        2026-07-28 tools/list aof_status
          400 {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Header mismatch: `Mcp-Method` is `tools/list`, the body says
        - tools/call aof_status
          400 {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Header mismatch: `MCP-Protocol-Version` is missing, the body
        2025-11-25 tools/call aof_status
          400 {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Header mismatch: `MCP-Protocol-Version` is `2025-11-25`, the
        2026-07-28 tools/list -
          200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"aof_task_
        2026-07-28 resources/read =?base64?YW9mOi8vdGFzay/DhA==?=
          200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no project at `HOME` or above it\n\nstart one with `aof init
        2026-07-28 nothing/known -
          404 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"there is no method `nothing/known`"}}
        2026-07-28 tools/list -
          400 {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Header mismatch: `MCP-Protocol-Version` is `2026-07-28`, the
        2026-07-28 tools/list -
          400 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"request _meta is missing or has malformed required fields: i
        2026-07-28 server/discover -
          400 {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Header mismatch: `MCP-Protocol-Version` is `2026-07-28`, the
        2031-01-01 server/discover -
          400 {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"requested":"2031-01-0
        2031-01-01 tools/list -
          400 {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Header mismatch: `MCP-Protocol-Version` is `2031-01-01`, the
        2026-07-28 initialize -
          404 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"there is no method `initialize`"}}
        - initialize -
          400 {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Header mismatch: `MCP-Protocol-Version` is missing, the body
        "#);
    }
}
