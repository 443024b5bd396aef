//! A conversation with a server in a process of its own, as clients have it: lines over pipes. Only for the check of the wiring.
//!
//! `crate::system::process` is for programs whose input is known before they start; here each request waits for an answer.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A server that has not answered by then is taken for broken.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long what a server complained of is waited for once it has closed its output.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How often it is asked whether it has ended.
const TICK: Duration = Duration::from_millis(5);

/// The version of the protocol that a conversation is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// It begins with `initialize`.
    Handshake,
    /// Each request says what it needs by itself.
    SelfContained,
}

impl Era {
    pub(crate) const ALL: [Self; 2] = [Self::Handshake, Self::SelfContained];

    pub(crate) const fn version(self) -> &'static str {
        match self {
            Self::Handshake => "2025-11-25",
            Self::SelfContained => "2026-07-28",
        }
    }
}

/// A server that was started, and both ends of its pipes.
pub(crate) struct Conversation {
    era: Era,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    complaints: Receiver<String>,
    asked: u64,
}

impl Conversation {
    /// Starts this program anew as a server.
    pub(crate) fn start(era: Era, words: &[OsString]) -> Result<Self, String> {
        let program = std::env::current_exe()
            .map_err(|cause| format!("cannot tell which program this is: {cause}"))?;
        let mut command = Command::new(program);
        command.args(words);
        Self::with(era, command)
    }

    fn with(era: Era, mut command: Command) -> Result<Self, String> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|cause| {
                format!("cannot start `{}`: {cause}", command.get_program().display())
            })?;
        let lines = lines_of(child.stdout.take().ok_or("the server has no output")?);
        let complaints = lines_of(child.stderr.take().ok_or("the server has nowhere to complain")?);
        Ok(Self { era, stdin: child.stdin.take(), child, lines, complaints, asked: 0 })
    }

    /// Begins the conversation, and returns what the server says of itself.
    pub(crate) fn begin(&mut self) -> Result<Value, String> {
        let client = json!({"name": "aof mcp --check", "version": env!("CARGO_PKG_VERSION")});
        match self.era {
            Era::Handshake => {
                let hello = json!({"protocolVersion": self.era.version(), "capabilities": {}, "clientInfo": client});
                let told = self.ask("initialize", hello)?;
                self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
                Ok(told)
            }
            Era::SelfContained => self.ask("server/discover", json!({})),
        }
    }

    /// Sends a request and returns its result.
    pub(crate) fn ask(&mut self, method: &str, mut params: Value) -> Result<Value, String> {
        self.asked += 1;
        if self.era == Era::SelfContained {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.era.version(),
                "io.modelcontextprotocol/clientInfo": {"name": "aof mcp --check", "version": env!("CARGO_PKG_VERSION")},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        self.write(
            &json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}),
        )?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let line = match self
                .lines
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("no answer to `{method}` within 30 s"));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("the server ended at `{method}`: {}", self.last_words()));
                }
            };
            let answer: Value = serde_json::from_str(&line)
                .map_err(|_| format!("the server wrote what is not JSON: {line}"))?;
            if answer["id"] != self.asked {
                continue;
            }
            return match answer.get("error") {
                Some(error) => Err(format!(
                    "`{method}` was answered with an error: {}",
                    error["message"].as_str().unwrap_or_default()
                )),
                None => Ok(answer["result"].clone()),
            };
        }
    }

    /// Closes the pipe, and expects the server to end well.
    pub(crate) fn end(mut self) -> Result<(), String> {
        drop(self.stdin.take());
        let deadline = Instant::now() + PATIENCE;
        // Its output ends when it does.
        while let Ok(_) | Err(RecvTimeoutError::Timeout) =
            self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            if Instant::now() >= deadline {
                return Err("the server did not end within 30 s of its client".to_owned());
            }
        }
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => {
                    return Err(format!("the server ended with {}", in_words(status)));
                }
                // One that closed its output may live on.
                Ok(None) if Instant::now() < deadline => thread::sleep(TICK),
                Ok(None) => {
                    return Err("the server did not end within 30 s of its client".to_owned());
                }
                Err(cause) => return Err(format!("cannot tell how the server ended: {cause}")),
            }
        }
    }

    fn write(&mut self, message: &Value) -> Result<(), String> {
        let stdin = self.stdin.as_mut().ok_or("the conversation is over")?;
        // A server that has ended already says why on its other pipe.
        let sent = stdin.write_all(format!("{message}\n").as_bytes()).and_then(|()| stdin.flush());
        sent.map_err(|cause| match self.last_words() {
            words if words.is_empty() => format!("the server does not listen: {cause}"),
            words => words,
        })
    }

    /// Returns what it complained of. One that has closed its output, and lives on, is not waited for.
    fn last_words(&mut self) -> String {
        drop(self.stdin.take());
        let deadline = Instant::now() + LAST_WORDS;
        let mut words = Vec::new();
        while let Ok(line) =
            self.complaints.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            words.push(line);
        }
        words.join("\n").trim().trim_start_matches("error: ").to_owned()
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the lines of a pipe as they come, so that whoever writes them never waits.
fn lines_of(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (deliver, lines) = channel();
    thread::spawn(move || {
        BufReader::new(pipe).lines().map_while(Result::ok).try_for_each(|line| deliver.send(line))
    });
    lines
}

fn in_words(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("exit code {code}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_closes_its_output_and_lives_on_is_not_waited_for() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'error: out of order' >&2; exec >&-; exec sleep 600"]);
        let mut conversation = Conversation::with(Era::Handshake, command).unwrap();
        assert_eq!(
            conversation.begin().unwrap_err(),
            "the server ended at `initialize`: out of order"
        );
        assert!(matches!(conversation.child.try_wait(), Ok(None)), "it lives on");
    }
}
