//! A client of the Model Context Protocol, as plain as can be: lines over pipes to the real binary. Every answer of a tool is
//! checked against the schema that the tool declares.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::support::environment::{Output, TestEnvironment, eventually};

/// Work, a review, a person.
pub(crate) const WITH_PERSON: &str = "\
workflow:
  gates:
    - {id: implement, role: backend, canSkip: true}
    - {id: review, role: architect, canReject: true}
    - {id: approve, role: boss, requireHuman: true}
";

/// The agents of it, one of them a person.
pub(crate) const WITH_BOSS: &str = "\
roles:
  backend: {agents: [agent-7, agent-8]}
  architect: {agents: [agent-3]}
  boss: {agents: [human-ada]}
agents:
  agent-7: {may: [new]}
  agent-8: {}
  agent-3: {}
  human-ada: {email: ada@example.org}
";

/// The version of the protocol that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Old,
    New,
}

/// A server, and a client that talks to it.
pub(crate) struct McpClient<'e> {
    env: &'e TestEnvironment,
    era: Era,
    child: Option<Child>,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    reader: JoinHandle<()>,
    asked: u64,
    /// What the server said of itself at the beginning.
    pub(crate) hello: Value,
    schemas: HashMap<String, (Validator, Validator)>,
}

impl<'e> McpClient<'e> {
    /// Starts a server for that agent and begins a conversation.
    pub(crate) fn of(env: &'e TestEnvironment, agent: &str) -> Self {
        Self::start(env, Era::Old, &["--agent", agent])
    }

    /// Starts a server with these words and begins a conversation.
    pub(crate) fn start(env: &'e TestEnvironment, era: Era, words: &[&str]) -> Self {
        Self::start_with(env, era, words, &[])
    }

    /// Does the same with variables of the environment.
    pub(crate) fn start_with(
        env: &'e TestEnvironment,
        era: Era,
        words: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut client = Self::mute(env, era, words, variables);
        client.begin();
        client
    }

    /// Starts a server and says nothing to it.
    pub(crate) fn mute(
        env: &'e TestEnvironment,
        era: Era,
        words: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = env.aof_command(&["mcp"]);
        command.args(words).envs(variables.iter().copied());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let (deliver, lines) = channel();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if deliver.send(line).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        let (hello, schemas) = (Value::Null, HashMap::new());
        Self { env, era, child: Some(child), stdin, lines, reader, asked: 0, hello, schemas }
    }

    /// Begins the conversation, and learns the tools.
    pub(crate) fn begin(&mut self) {
        self.hello = match self.era {
            Era::Old => {
                let client = json!({"name": "test", "version": "1"});
                let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
                let output = self.ask("initialize", hello);
                self.send(
                    &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
                );
                output
            }
            Era::New => self.ask("server/discover", json!({})),
        };
        let listed = self.ask("tools/list", json!({}));
        for tool in listed["tools"].as_array().unwrap() {
            let schema = |key: &str| jsonschema::validator_for(&tool[key]).unwrap();
            let both = (schema("inputSchema"), schema("outputSchema"));
            self.schemas.insert(tool["name"].as_str().unwrap().to_owned(), both);
        }
    }

    /// Sends a line as it is.
    pub(crate) fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin
            .write_all(line.as_bytes())
            .and_then(|()| stdin.write_all(b"\n"))
            .and_then(|()| stdin.flush())
            .unwrap();
    }

    /// Returns the next line that the server writes. Nothing but the protocol is ever there.
    #[track_caller]
    pub(crate) fn line(&mut self) -> Value {
        let line = self.lines.recv_timeout(Duration::from_mins(1)).expect("the server answers");
        let message: Value =
            serde_json::from_str(&line).unwrap_or_else(|fault| panic!("{fault}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Sends a request and returns its number.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.asked += 1;
        if self.era == Era::New {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        self.send(
            &json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params})
                .to_string(),
        );
        self.asked
    }

    /// Sends a request and returns the answer, which is the next line.
    #[track_caller]
    pub(crate) fn answer(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let answer = self.line();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Sends a request, which must succeed.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Calls a tool; an answer of either kind is what its schema says, and its text says the same.
    #[track_caller]
    pub(crate) fn called(&mut self, tool: &str, arguments: &Value) -> (bool, Value) {
        let result = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        self.checked(tool, &result)
    }

    #[track_caller]
    pub(crate) fn checked(&self, tool: &str, result: &Value) -> (bool, Value) {
        let output = result["structuredContent"].clone();
        let text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, output, "the text says what the structure says");
        let (_, schema) = &self.schemas[tool];
        if let Err(fault) = schema.validate(&output) {
            panic!("{tool}: {fault}\n{output:#}");
        }
        (result["isError"] == true, output)
    }

    /// Calls a tool, which must do what it is asked to.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "a call reads as one line")]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let (refused, output) = self.called(tool, &arguments);
        assert!(!refused, "{tool} {arguments}: {output:#}");
        assert!(
            self.schemas[tool].0.is_valid(&arguments),
            "{arguments} is accepted, and is against the schema of {tool}"
        );
        output
    }

    /// Calls a tool, which must refuse.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "a call reads as one line")]
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        let (refused, output) = self.called(tool, &arguments);
        assert!(refused, "{tool} {arguments}: {output:#}");
        output
    }

    /// Makes the call that an answer advises.
    #[track_caller]
    pub(crate) fn follow(&mut self, output: &Value) -> Value {
        let next = &output["nextCall"];
        let tool =
            next["tool"].as_str().unwrap_or_else(|| panic!("no call is advised: {output:#}"));
        self.call(tool, next["arguments"].clone())
    }

    /// Returns the process's number.
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Reads nothing more, like a client that broke off, and still holds its end of the other pipe.
    pub(crate) fn stop_listening(&mut self) {
        self.lines = channel().1;
        // The reader ends with the next line, and its end of the pipe with it.
        self.request("ping", json!({}));
        eventually("nobody reads", || self.reader.is_finished());
    }

    /// Says nothing more.
    pub(crate) fn leave(&mut self) {
        drop(self.stdin.take());
    }

    /// Goes away, and returns how the server ended.
    pub(crate) fn end(mut self) -> Output {
        self.leave();
        self.ended()
    }

    /// Returns how the server ended, by itself.
    pub(crate) fn ended(mut self) -> Output {
        let output = self.env.finish("aof mcp", self.child.take().unwrap());
        drop(self.stdin.take());
        output
    }
}

impl Drop for McpClient<'_> {
    fn drop(&mut self) {
        drop(self.stdin.take());
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns JSON as a snapshot shows it.
pub(crate) fn shown(env: &TestEnvironment, value: &Value) -> String {
    env.plain(&format!("{value:#}"))
}

/// Returns the fields of an answer without its sentence.
pub(crate) fn without_words(value: &Value) -> Value {
    let map = value.as_object().unwrap();
    Value::Object(
        map.iter()
            .filter(|(key, _)| *key != "message")
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect::<Map<_, _>>(),
    )
}
