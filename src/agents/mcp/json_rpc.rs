//! JSON-RPC 2.0: messages, one per line. An invalid line is answered with an error, and reading continues with the next.

use std::io::{self, BufRead};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use crate::domain::Map;
use crate::files::json::{parse as parse_json, read_below, read_member, reason};
use crate::system::client_call::ClientCall;

/// The size above which messages are refused: no tool takes arguments of that size.
pub(crate) const LONGEST: usize = 8 << 20;

pub(crate) const PARSE_ERROR: i32 = -32700;
pub(crate) const INVALID_REQUEST: i32 = -32600;
pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
pub(crate) const INVALID_PARAMS: i32 = -32602;
pub(crate) const RESOURCE_NOT_FOUND: i32 = -32002;
pub(crate) const HEADER_MISMATCH: i32 = -32020;
pub(crate) const UNSUPPORTED_VERSION: i32 = -32022;

/// A message from a client.
#[derive(Debug)]
pub(crate) enum RpcMessage {
    Request(RpcRequest),
    /// The request with this id was cancelled.
    Cancelled(Value),
    /// A blank line, an answer, or a notification that this server does not handle.
    Ignored,
}

/// A request. Its id is a text or a whole number.
#[derive(Debug)]
pub(crate) struct RpcRequest {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Map,
    /// The call, which the client may cancel.
    pub(crate) call: Arc<ClientCall>,
}

/// The reason why a request has no result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RpcError {
    pub(crate) code: i32,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(crate) fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    fn malformed(method: &str, what: &str) -> Self {
        Self::new(INVALID_PARAMS, format!("the parameters of `{method}` are malformed: {what}"))
    }
}

impl RpcRequest {
    /// Returns a parameter that must be a text.
    pub(crate) fn text(&self, name: &str) -> Result<&str, RpcError> {
        self.params.get(name).and_then(Value::as_str).ok_or_else(|| {
            RpcError::malformed(&self.method, &format!("`{name}` is missing, or not a text"))
        })
    }

    /// Returns a parameter that is an object or missing.
    pub(crate) fn object(&self, name: &str) -> Result<Map, RpcError> {
        match self.params.get(name) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(map)) => Ok(map.clone()),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(Map::new()),
            Some(other) => {
                // Some clients send the object as the text of its JSON.
                let text = other.as_str().unwrap_or_default();
                if let Some(Value::Object(map)) = parse_json(text).ok().map(|node| node.to_value())
                {
                    return Ok(map);
                }
                let fault = serde_json::from_str::<Value>(text).err().filter(|_| other.is_string());
                let why = fault.map(|fault| format!(", its text is not JSON: {}", reason(&fault)));
                let problem = format!("`{name}` is not an object{}", why.unwrap_or_default());
                Err(RpcError::malformed(&self.method, &problem))
            }
        }
    }
}

/// Returns the line of an answer; `id` is null if the id of the request is unknown.
pub(crate) fn answer(id: &Value, result: &Result<Value, RpcError>) -> String {
    let answer = match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
    };
    format!("{answer}\n")
}

/// Parses bytes as a message. Fails with the error to answer, and the id that the answer must have.
pub(crate) fn parse(line: &[u8]) -> Result<RpcMessage, (Value, RpcError)> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return Ok(RpcMessage::Ignored);
    }
    let is_id = |id: &Value| id.is_string() || id.is_i64();
    // Bytes that are not UTF-8 are not JSON; the error of serde_json has their position.
    let value = std::str::from_utf8(line)
        .map_or_else(|_| serde_json::from_slice(line), |text| read_below(text, "params"))
        .map_err(|fault| {
            // A call without an answer under its id would wait forever.
            let id = read_member(&String::from_utf8_lossy(line), "id").filter(is_id);
            let problem = format!("this is not JSON: {}", reason(&fault));
            (id.unwrap_or_default(), RpcError::new(PARSE_ERROR, problem))
        })?;
    let id = value.get("id").filter(|id| is_id(id)).cloned();
    let refused = |error| Err((id.clone().unwrap_or_default(), error));
    if value["jsonrpc"] != "2.0" {
        let problem = "a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"`, one at a time";
        return refused(RpcError::new(INVALID_REQUEST, problem));
    }
    let Some(method) = value["method"].as_str() else {
        let is_answer = value.get("result").or(value.get("error")).is_some();
        if is_answer && value.get("method").is_none() {
            return Ok(RpcMessage::Ignored);
        }
        let problem = "this is no JSON-RPC message: it has no `method` that is a text";
        return refused(RpcError::new(INVALID_REQUEST, problem));
    };
    if value.get("id").is_none() {
        return Ok(match (method, value["params"].get("requestId")) {
            ("notifications/cancelled", Some(id)) => RpcMessage::Cancelled(id.clone()),
            _ => RpcMessage::Ignored,
        });
    }
    let Some(id) = &id else {
        let problem = "the `id` of a request is a text or a whole number";
        return refused(RpcError::new(INVALID_REQUEST, problem));
    };
    let params = match &value["params"] {
        Value::Null => Map::new(),
        Value::Object(params) => params.clone(),
        _ => return refused(RpcError::malformed(method, "`params` is not an object")),
    };
    let (method, call) = (method.to_owned(), Arc::default());
    Ok(RpcMessage::Request(RpcRequest { id: id.clone(), method, params, call }))
}

/// Reads the next line, without its end, or the error to answer if it is too long. Returns `None` at the end of the input.
pub(crate) fn next_line(input: &mut impl BufRead) -> io::Result<Option<Result<Vec<u8>, RpcError>>> {
    let (mut line, mut length) = (Vec::new(), 0);
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(buffer.len(), |end| end + 1);
        if taken == 0 && length == 0 {
            return Ok(None);
        }
        let is_over = end.is_some() || taken == 0;
        length += taken;
        if length <= LONGEST {
            line.extend_from_slice(&buffer[..end.unwrap_or(taken)]);
        }
        input.consume(taken);
        if is_over && length <= LONGEST {
            return Ok(Some(Ok(line)));
        } else if is_over {
            let problem = format!("a message has at most {LONGEST} bytes");
            return Ok(Some(Err(RpcError::new(INVALID_REQUEST, problem))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_one_counts() {
        let mut text = vec![b'x'; LONGEST + 1];
        text.extend_from_slice(b"\nnext\nlast");
        let mut input = io::BufReader::new(&text[..]);
        assert!(matches!(next_line(&mut input), Ok(Some(Err(_)))));
        for expected in [&b"next"[..], b"last"] {
            assert!(matches!(next_line(&mut input), Ok(Some(Ok(line))) if line == expected));
        }
        assert!(matches!(next_line(&mut input), Ok(None)));
    }
}
