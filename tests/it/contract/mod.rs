//! What people and programs rely on: the words of the command line, JSON, codes, events, metrics.
//!
//! A change of the program leaves these snapshots as they are, or it is a change of the contract.
//! Sentences are not frozen here: wherever a program finds one, a snapshot has `TEXT`.

mod command_line;
pub(crate) mod doors;
mod errors;
mod events;
mod json_acts;
mod json_looks;
mod json_project;
mod json_runs;
mod mcp;
mod metrics;
mod shape;

use serde_json::Value;

use crate::support::environment::{Output, TestEnvironment};
use shape::{render, shape};

/// A fork, a review with decisions, a person, and a workflow with an input of its own.
const PROJECT: &str = "\
project: {name: shop}
workflows:
  default:
    description: The usual way
    gates:
      - id: implement
        role: backend
        lease: 30m
        canSkip: true
        outputs: {properties: {branch: {type: string}}}
      - id: measure
        role: backend
        when: tags.includes('big')
      - id: checks
        type: fork
        branches:
          - {id: security, role: expert, canReject: true}
          - {id: style, role: architect, canReject: true}
      - id: review
        role: architect
        canReject: true
        timeout: 1h
        escalateTo: lead
        maxRetries: 2
        onExhausted: {to: $fail}
      - {id: approve, role: lead, requireHuman: true}
  quick:
    visibleTo: [backend, lead]
    context: {input: {repo: null, branch: main}}
    gates: [{id: work, role: backend}]
  solo: {gates: [{id: work, role: backend}]}
  empty: {gates: [{id: work, role: backend}, {id: audit, role: nobody}]}
defaultWorkflow: default
";

/// Who is in the roles of [`PROJECT`].
const ORG: &str = "\
roles:
  backend: {agents: [agent-7, agent-8]}
  architect: {agents: [agent-3]}
  expert: {agents: [agent-4]}
  lead: {agents: [human-ada]}
  nobody: {agents: []}
agents:
  agent-7: {may: [new], maxTasks: 2}
  agent-8:
  agent-3:
  agent-4:
  human-ada: {email: ada@example.org}
";

/// A project in which things happen, and what commands answered with `--json`.
struct Story {
    env: TestEnvironment,
    output: String,
}

impl Story {
    /// Returns a story that begins with these rules.
    fn with_rules(project: &str, org: &str) -> Self {
        Self::of(TestEnvironment::with_rules(project, org))
    }

    fn of(env: TestEnvironment) -> Self {
        Self { env, output: String::new() }
    }

    /// Runs a command with `--json`, and notes the command, its exit code and the shape of its answer.
    fn tells(&mut self, line: &str) {
        let words = words(line);
        let output = self.env.aof(&with_json(&words));
        self.note(line, &output);
    }

    /// Does so with something on stdin.
    fn tells_reading(&mut self, line: &str, stdin: &str) {
        let words = words(line);
        let output = self.env.aof_reading(&with_json(&words), stdin.as_bytes());
        self.note(line, &output);
    }

    fn note(&mut self, line: &str, output: &Output) {
        let code = output.code.map_or("killed".to_owned(), |code| format!("exit {code}"));
        self.output += &self.env.plain(&format!("$ aof {line}\n{code}\n"));
        let values = documents(&output.stdout);
        if values.is_empty() && !output.stdout.is_empty() {
            self.output += "no JSON\n";
        }
        for value in &values {
            self.output += &format!("{}\n", render(&shape(value)));
        }
        self.output.push('\n');
    }

    /// Runs a command, which must succeed, and notes nothing.
    fn does(&self, line: &str) {
        let words = words(line);
        let _ = self.env.aof(&words.iter().map(String::as_str).collect::<Vec<_>>()).success();
    }

    /// Makes a task, and returns its id.
    fn task(&self, line: &str) -> String {
        let words = words(line);
        self.env.new_task(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Returns the id of the only task.
    fn only_task(&self) -> String {
        let files = self.env.files("tasks");
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].trim_start_matches("tasks/").trim_end_matches(".md").to_owned()
    }

    /// Has an agent say an outcome, and notes nothing.
    fn says(&self, ticket: &str, agent: &str, outcome: &str) {
        let blocker = match outcome {
            "needs_review" | "blocked" => &["--blocker", "No test"][..],
            _ => &[],
        };
        let _ = self.env.say(ticket, agent, outcome, blocker).success();
    }
}

/// Returns the JSON documents in a text; none where it is something else.
fn documents(text: &str) -> Vec<Value> {
    let values: Result<Vec<Value>, _> =
        serde_json::Deserializer::from_str(text).into_iter().collect();
    values.unwrap_or_default()
}

/// Returns the words of a command line. Single quotes hold a word together.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut within) = (Vec::new(), None::<String>, false);
    for letter in line.chars() {
        match letter {
            '\'' => {
                within = !within;
                word.get_or_insert_default();
            }
            ' ' if !within => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

fn with_json(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).chain(["--json"]).collect()
}
