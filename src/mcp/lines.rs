//! The wire: one JSON-RPC message a line, in on stdin, out on stdout, each in a thread of its own, so that a slow disk or a client
//! that does not read stops nothing else. What is no message is answered as such, and the next line counts.
//!
//! When the client is gone, or the process is asked to stop, no more is taken in, and the end is told only once every call that was
//! taken in has its answer.

use std::collections::HashSet;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};

/// A line longer than this is no message: nothing that a tool takes comes near it.
const LONGEST: usize = 8 << 20;

/// Both directions. Clones share them, so that what ends one conversation does not end the process.
#[derive(Clone)]
pub(super) struct Lines {
    incoming: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Incoming>>>,
    outgoing: mpsc::UnboundedSender<Outgoing>,
    open: Arc<Open>,
    over: bool,
}

/// What comes in.
enum Incoming {
    Message(Box<ClientJsonRpcMessage>),
    Stop,
}

/// What goes out, and who waits until it is written.
struct Outgoing {
    line: Vec<u8>,
    written: oneshot::Sender<io::Result<()>>,
}

/// The requests that have no answer yet.
#[derive(Default)]
struct Open {
    ids: Mutex<HashSet<RequestId>>,
    none: Notify,
}

impl Open {
    fn ids(&self) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, id: &RequestId) {
        let mut ids = self.ids();
        ids.remove(id);
        if ids.is_empty() {
            self.none.notify_waiters();
        }
    }

    async fn all_answered(&self) {
        loop {
            let told = self.none.notified();
            if self.ids().is_empty() {
                return;
            }
            told.await;
        }
    }
}

impl Lines {
    /// Begins to read and to write. The second value stops the reading.
    pub(super) fn start() -> io::Result<(Self, impl Fn() + Send + 'static)> {
        let (deliver, incoming) = mpsc::unbounded_channel();
        let (outgoing, mut to_write) = mpsc::unbounded_channel::<Outgoing>();
        let gone = deliver.clone();
        thread::Builder::new().name("stdout".to_owned()).spawn(move || {
            while let Some(Outgoing { line, written }) = to_write.blocking_recv() {
                let result = write(&line);
                if result.is_err() {
                    // Nobody reads any more: what is under way is finished, and nothing else begun.
                    let _ = gone.send(Incoming::Stop);
                }
                let _ = written.send(result);
            }
        })?;
        let (stop, answers) = (deliver.clone(), outgoing.clone());
        thread::Builder::new().name("stdin".to_owned()).spawn(move || read(&deliver, &answers))?;
        let lines =
            Self { incoming: Arc::new(tokio::sync::Mutex::new(incoming)), outgoing, open: Arc::default(), over: false };
        Ok((lines, move || drop(stop.send(Incoming::Stop))))
    }
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let line = serde_json::to_vec(&message).map_err(io::Error::from);
        let sent = line.map(|line| queue(&self.outgoing, line));
        let open = Arc::clone(&self.open);
        async move {
            let written = match sent {
                Ok(written) => written.await.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into())),
                Err(cause) => Err(cause),
            };
            if let Some(id) = &answered {
                open.close(id);
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        if !self.over {
            match self.incoming.lock().await.recv().await {
                Some(Incoming::Message(message)) => {
                    self.note(&message);
                    return Some(*message);
                }
                Some(Incoming::Stop) | None => self.over = true,
            }
        }
        self.open.all_answered().await;
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn note(&self, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.open.ids().insert(request.id.clone());
            }
            // A call that was called off gets no answer.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open.close(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }
}

fn queue(outgoing: &mpsc::UnboundedSender<Outgoing>, mut line: Vec<u8>) -> oneshot::Receiver<io::Result<()>> {
    line.push(b'\n');
    let (written, told) = oneshot::channel();
    // Where the writer is gone, the other end of this is, too: that is the answer.
    let _ = outgoing.send(Outgoing { line, written });
    told
}

fn write(line: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(line)?;
    stdout.flush()
}

fn read(deliver: &mpsc::UnboundedSender<Incoming>, answers: &mpsc::UnboundedSender<Outgoing>) {
    let mut stdin = io::stdin().lock();
    let mut line = Vec::new();
    while let Ok(Some(whole)) = next_line(&mut stdin, &mut line) {
        let message = match whole {
            Whole::Yes if line.iter().all(u8::is_ascii_whitespace) => continue,
            Whole::Yes => parsed(&line),
            Whole::TooLong => {
                Err(refused(ErrorCode::INVALID_REQUEST, format!("a message has at most {LONGEST} bytes"), None))
            }
        };
        let delivered = match message {
            Ok(Some(message)) => deliver.send(Incoming::Message(Box::new(message))).is_ok(),
            Ok(None) => true,
            Err(answer) => {
                drop(queue(answers, answer.to_string().into_bytes()));
                true
            }
        };
        if !delivered {
            return;
        }
    }
    let _ = deliver.send(Incoming::Stop);
}

/// Whether a line could be kept.
enum Whole {
    Yes,
    TooLong,
}

/// Reads a line; one that is too long is passed over. Nothing at the end of the input.
fn next_line(stdin: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<Whole>> {
    line.clear();
    let mut read = 0;
    loop {
        let buffer = stdin.fill_buf()?;
        if buffer.is_empty() {
            return Ok((read > 0).then_some(if read > LONGEST { Whole::TooLong } else { Whole::Yes }));
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(buffer.len(), |end| end + 1);
        read += taken;
        if read <= LONGEST {
            line.extend_from_slice(&buffer[..taken]);
        }
        stdin.consume(taken);
        if end.is_some() {
            return Ok(Some(if read > LONGEST { Whole::TooLong } else { Whole::Yes }));
        }
    }
}

/// Returns the message, or the answer to what is none. Nothing for a notification that says nothing: it has no answer.
fn parsed(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Value> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    let value: Value = serde_json::from_slice(line)
        .map_err(|fault| refused(ErrorCode::PARSE_ERROR, format!("this line is not JSON: {fault}"), None))?;
    let id = value.get("id").filter(|id| id.is_string() || id.is_i64()).cloned();
    if value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        let problem = "a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"`, one a line".to_owned();
        return Err(refused(ErrorCode::INVALID_REQUEST, problem, id.as_ref()));
    }
    let method = value.get("method").and_then(Value::as_str).map(str::to_owned);
    let notifies = method.is_some() && value.get("id").is_none();
    serde_json::from_value(value).map(Some).or_else(|fault| match method {
        _ if notifies => Ok(None),
        Some(method) => {
            let problem = format!("the parameters of `{method}` are malformed: {fault}");
            Err(refused(ErrorCode::INVALID_PARAMS, problem, id.as_ref()))
        }
        None => Err(refused(ErrorCode::INVALID_REQUEST, format!("this is no JSON-RPC message: {fault}"), id.as_ref())),
    })
}

fn refused(code: ErrorCode, problem: String, id: Option<&Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": ErrorData::new(code, problem, None)})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_one_counts() {
        let mut text = vec![b'x'; LONGEST + 1];
        text.extend_from_slice(b"\nnext\nlast");
        let mut stdin = io::BufReader::new(&text[..]);
        let mut line = Vec::new();
        assert!(matches!(next_line(&mut stdin, &mut line), Ok(Some(Whole::TooLong))));
        for expected in [&b"next\n"[..], b"last"] {
            assert!(matches!(next_line(&mut stdin, &mut line), Ok(Some(Whole::Yes))));
            assert_eq!(line, expected);
        }
        assert!(matches!(next_line(&mut stdin, &mut line), Ok(None)));
    }
}
