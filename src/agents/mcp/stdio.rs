//! The wire: one JSON-RPC message a line, in on stdin, out on stdout, each in a thread of its own, so that a slow disk or a client
//! that does not read stops nothing else. What is no message is answered as such, and the next line counts.
//!
//! When the client is gone, or the process is asked to stop, no more is taken in, and the end is told only once every call that was
//! taken in has its answer. No more is taken in, either, while as much as may be is under way: it waits in the client's pipe.

use std::future::poll_fn;
use std::io::{self, BufRead, Write};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, GetExtensions, JsonRpcMessage,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};

use super::calls_in_flight::Open;
use crate::files::json::numbers::read_below;

/// A line longer than this is no message: nothing that a tool takes comes near it.
const LONGEST: usize = 8 << 20;
/// So many messages are read ahead. What else a client says waits in its pipe.
const AHEAD: usize = 4;

/// Both directions. Clones share them, so that what ends one conversation does not end the process.
#[derive(Clone)]
pub(crate) struct Lines {
    incoming: Arc<tokio::sync::Mutex<mpsc::Receiver<Box<ClientJsonRpcMessage>>>>,
    stopped: watch::Receiver<bool>,
    outgoing: mpsc::UnboundedSender<Outgoing>,
    open: Arc<Open>,
    over: bool,
}

/// What goes out, and who waits until it is written.
struct Outgoing {
    line: Vec<u8>,
    written: oneshot::Sender<io::Result<()>>,
}

impl Lines {
    /// Begins to read and to write. The second value stops the reading.
    pub(crate) fn start() -> io::Result<(Self, impl Fn() + Send + 'static)> {
        let (deliver, incoming) = mpsc::channel(AHEAD);
        let (stop, stopped) = watch::channel(false);
        let (outgoing, mut to_write) = mpsc::unbounded_channel::<Outgoing>();
        let gone = stop.clone();
        thread::Builder::new().name("stdout".to_owned()).spawn(move || {
            while let Some(Outgoing { line, written }) = to_write.blocking_recv() {
                let result = write(&line);
                if result.is_err() {
                    // Nobody reads any more: what is under way is finished, and nothing else begun.
                    gone.send_replace(true);
                }
                let _ = written.send(result);
            }
        })?;
        let answers = outgoing.clone();
        thread::Builder::new().name("stdin".to_owned()).spawn(move || read(&deliver, &answers))?;
        let lines = Self::over(incoming, stopped, outgoing);
        Ok((lines, move || {
            stop.send_replace(true);
        }))
    }

    fn over(
        incoming: mpsc::Receiver<Box<ClientJsonRpcMessage>>,
        stopped: watch::Receiver<bool>,
        outgoing: mpsc::UnboundedSender<Outgoing>,
    ) -> Self {
        let incoming = Arc::new(tokio::sync::Mutex::new(incoming));
        Self { incoming, stopped, outgoing, open: Arc::default(), over: false }
    }
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let unwritten = answered.map(|id| self.open.answer(id));
        let line = serde_json::to_vec(&message).map_err(io::Error::from);
        let sent = line.map(|line| queue(&self.outgoing, line));
        async move {
            let written = match sent {
                Ok(written) => {
                    written.await.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
                }
                Err(cause) => Err(cause),
            };
            drop(unwritten);
            written
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        if !self.over {
            if let Some(message) = self.next_unless_stopped().await {
                return Some(message);
            }
            self.over = true;
        }
        self.open.all_answered().await;
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Returns the next message. To stop is more urgent than what was read ahead.
    async fn next_unless_stopped(&self) -> Option<ClientJsonRpcMessage> {
        let mut stopped = self.stopped.clone();
        let mut stopped = pin!(stopped.wait_for(|stopped| *stopped));
        let mut next = pin!(self.next());
        poll_fn(|context| match stopped.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(None),
            Poll::Pending => next.as_mut().poll(context),
        })
        .await
    }

    /// Returns the next message that is to be heard; nothing when the client is gone.
    async fn next(&self) -> Option<ClientJsonRpcMessage> {
        loop {
            let room = self.open.room().await?;
            let mut message = *self.incoming.lock().await.recv().await?;
            match &mut message {
                JsonRpcMessage::Request(request) if self.open.begin(&request.id) => {
                    request.request.extensions_mut().insert(Arc::new(room));
                }
                JsonRpcMessage::Request(request) => {
                    drop(queue(&self.outgoing, in_use(&request.id).to_string().into_bytes()));
                    continue;
                }
                // A call that was called off gets no answer.
                JsonRpcMessage::Notification(notification) => {
                    if let ClientNotification::CancelledNotification(cancelled) =
                        &notification.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        self.open.call_off(id);
                    }
                }
                JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
            }
            return Some(message);
        }
    }
}

/// Refuses a second request with an id that has no answer yet. With that id, the refusal would be taken for the answer to the first.
fn in_use(id: &RequestId) -> Value {
    let id = id.clone().into_json_value();
    let problem =
        format!("a request with the id {id} has no answer yet: give each an id of its own");
    refused(ErrorCode::INVALID_REQUEST, problem, None)
}

fn queue(
    outgoing: &mpsc::UnboundedSender<Outgoing>,
    mut line: Vec<u8>,
) -> oneshot::Receiver<io::Result<()>> {
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

/// Reads until the client is gone, and no faster than what it says is taken up and answered.
fn read(
    deliver: &mpsc::Sender<Box<ClientJsonRpcMessage>>,
    answers: &mpsc::UnboundedSender<Outgoing>,
) {
    let mut stdin = io::stdin().lock();
    let mut line = Vec::new();
    while let Ok(Some(whole)) = next_line(&mut stdin, &mut line) {
        let message = match whole {
            Whole::Yes if line.iter().all(u8::is_ascii_whitespace) => continue,
            Whole::Yes => parsed(&line),
            Whole::TooLong => Err(refused(
                ErrorCode::INVALID_REQUEST,
                format!("a message has at most {LONGEST} bytes"),
                None,
            )),
        };
        let delivered = match message {
            Ok(Some(message)) => deliver.blocking_send(Box::new(message)).is_ok(),
            Ok(None) => true,
            Err(answer) => {
                let _ = queue(answers, answer.to_string().into_bytes()).blocking_recv();
                true
            }
        };
        if !delivered {
            return;
        }
    }
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
            return Ok((read > 0).then_some(if read > LONGEST {
                Whole::TooLong
            } else {
                Whole::Yes
            }));
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
    // What is not UTF-8 is no JSON either, and serde_json says where.
    let value = std::str::from_utf8(line)
        .map_or_else(|_| serde_json::from_slice(line), |text| read_below(text, "params"))
        .map_err(|fault| {
            refused(ErrorCode::PARSE_ERROR, format!("this line is not JSON: {fault}"), None)
        })?;
    let id = value.get("id").filter(|id| id.is_string() || id.is_i64()).cloned();
    if value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        let problem =
            "a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"`, one a line".to_owned();
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
        None => Err(refused(
            ErrorCode::INVALID_REQUEST,
            format!("this is no JSON-RPC message: {fault}"),
            id.as_ref(),
        )),
    })
}

fn refused(code: ErrorCode, problem: String, id: Option<&Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": ErrorData::new(code, problem, None)})
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;
    use crate::agents::mcp::calls_in_flight::MOST;

    fn polled<T>(future: impl Future<Output = T>) -> Poll<T> {
        pin!(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    fn ping(id: usize) -> Box<ClientJsonRpcMessage> {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string();
        Box::new(parsed(line.as_bytes()).unwrap().unwrap())
    }

    #[test]
    fn only_so_many_calls_are_under_way_and_a_stop_does_not_wait_for_them() {
        let (deliver, incoming) = mpsc::channel(2 * MOST);
        let (stop, stopped) = watch::channel(false);
        let (outgoing, _to_write) = mpsc::unbounded_channel();
        let mut lines = Lines::over(incoming, stopped, outgoing);
        for id in 0..MOST + 3 {
            deliver.try_send(ping(id)).unwrap();
        }
        let mut under_way: Vec<_> = (0..MOST).map(|_| polled(lines.receive())).collect();
        assert!(under_way.iter().all(|call| matches!(call, Poll::Ready(Some(_)))));
        assert!(polled(lines.receive()).is_pending());
        // A call that was called off is worked on still.
        lines.open.call_off(&RequestId::Number(0));
        assert!(polled(lines.receive()).is_pending());
        drop(under_way.pop());
        assert!(matches!(polled(lines.receive()), Poll::Ready(Some(_))));
        // One whose answers nobody reads is not heard either.
        under_way.clear();
        let answer = |lines: &Lines, id: usize| {
            lines.open.answer(&RequestId::Number(i64::try_from(id).unwrap()))
        };
        let mut unwritten: Vec<_> = (1..=MOST).map(|id| answer(&lines, id)).collect();
        assert!(polled(lines.receive()).is_pending());
        drop(unwritten.pop());
        assert!(matches!(polled(lines.receive()), Poll::Ready(Some(_))));
        stop.send_replace(true);
        assert!(polled(lines.receive()).is_pending(), "what is under way is finished first");
        drop(unwritten);
        drop(answer(&lines, MOST + 1));
        assert!(
            matches!(polled(lines.receive()), Poll::Ready(None)),
            "what was read ahead is not begun"
        );
    }

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
