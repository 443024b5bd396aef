//! `aof mcp --check`: starts the server as a client would, talks to it in both versions of the protocol, and finds the acting agent.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;
use std::{env, io, iter};

use serde::Serialize;
use serde_json::{Value, json};

use super::open_project::ServerSetup;
use super::versions::{META_CAPABILITIES, META_VERSION, NEWEST_HANDSHAKE, SELF_CONTAINED};
use crate::agents::runner::doctor::run_and_listen;
use crate::domain::{AgentId, Gate, Workflow};
use crate::project::error::ProjectError;
use crate::project::rule_lookup::check_agent;
use crate::rules::Rules;
use crate::system::process::{How, Program, Secrets};

/// The time after which a server that has not ended counts as broken.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The result of the check, as JSON shows it.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WiringReport {
    /// True if there are no problems.
    pub ok: bool,
    /// The project's folder.
    pub root: Option<String>,
    /// The project's name, as the server reports it.
    pub project: Option<String>,
    /// The branch that changes are committed to, as the server reports it.
    pub branch: Option<String>,
    /// The acting agent.
    pub agent: Option<String>,
    pub roles: Vec<String>,
    /// The gates at which the agent may get work.
    pub gates: Vec<String>,
    /// The protocol versions in which a conversation succeeded.
    pub protocols: Vec<&'static str>,
    pub tools: Vec<String>,
    /// The size of the list of tools, in bytes.
    pub tools_bytes: usize,
    pub problems: Vec<WiringProblem>,
}

/// A problem of the wiring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct WiringProblem {
    pub code: &'static str,
    pub problem: String,
    pub fix: String,
}

impl WiringReport {
    fn add(&mut self, code: &'static str, problem: impl Into<String>, fix: impl Into<String>) {
        let problem = WiringProblem { code, problem: problem.into(), fix: fix.into() };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    fn add_error(&mut self, error: &ProjectError) {
        self.add(error.code(), error.problem(), fix_of(error));
    }
}

/// Checks the wiring. `words` start the server, after the program's name.
pub(crate) fn check(setup: &ServerSetup, words: &[OsString]) -> WiringReport {
    let mut report = WiringReport::default();
    identify(setup, &mut report);
    for version in [NEWEST_HANDSHAKE, SELF_CONTAINED] {
        match check_protocol(version, words, &mut report) {
            Ok(()) => report.protocols.push(version),
            Err(problem) => report.add(
                "no_conversation",
                format!("no conversation in protocol {version}: {problem}"),
                "run `aof mcp` with the same words by hand, and see what it says",
            ),
        }
    }
    report.ok = report.problems.is_empty();
    report
}

/// Finds the project and the agent who acts in it.
fn identify(setup: &ServerSetup, report: &mut WiringReport) {
    let project = match setup.open("check") {
        Ok(project) => project,
        Err(error) => return report.add_error(&error),
    };
    if let Err(error) = project.workspace.check_own_folder() {
        report.add_error(&error);
    }
    report.root = Some(project.workspace.paths.root().display().to_string());
    let rules = project.rules();
    let acting = if setup.read_only { None } else { project.agent().err() };
    let Some(agent) = project.viewer() else {
        return acting.map_or((), |error| report.add_error(&error));
    };
    report.roles = rules.org.roles_of(&agent).map(ToString::to_string).collect();
    report.gates = gates(rules, &agent);
    if let Err(error) = check_agent(rules, &agent, None) {
        let role =
            rules.org.roles.first().map_or_else(|| "ROLE".to_owned(), |(role, _)| role.to_string());
        let fix = format!(
            "add it to a role in org.yaml, as in `{role}: {{agents: [{agent}]}}`, and commit that; {}",
            fix_of(&error)
        );
        report.add(
            "unknown_agent",
            format!("`{agent}` is not in org.yaml, so no task is ever handed to it"),
            fix,
        );
    } else if report.roles.is_empty() && !rules.project.implicit_workflow {
        let problem = format!("`{agent}` is in no role, so no task is ever handed to it");
        report.add("no_role", problem, "add it to a role in org.yaml, and commit that");
    } else if report.gates.is_empty() && !rules.project.implicit_workflow {
        let problem = format!("no gate wants a role of `{agent}`, so no task is ever handed to it");
        report.add("no_gate", problem, "see the roles of the gates with `aof workflow show`");
    }
    report.agent = Some(agent.to_string());
}

fn fix_of(error: &ProjectError) -> String {
    error.fix().unwrap_or_else(|| "see `aof status` and `aof workflow validate`".to_owned())
}

/// Returns the gates of all workflows that want a role of the agent.
fn gates(rules: &Rules, agent: &AgentId) -> Vec<String> {
    let roles: BTreeSet<_> = rules.org.roles_of(agent).collect();
    let wants = |gate: &&Gate| {
        gate.roles().into_iter().any(|role| roles.contains(role) || rules.is_open(role))
    };
    let several = rules.project.workflows.len() > 1;
    let gates_of = |workflow: &Workflow| {
        let gates = workflow.gates.iter().filter(wants).map(|gate| {
            if several { format!("{}/{}", workflow.name, gate.id) } else { gate.id.to_string() }
        });
        gates.collect::<Vec<_>>()
    };
    rules.project.workflows.iter().flat_map(gates_of).collect()
}

/// Carries out a whole conversation with a new server: the handshake, the list of tools, a call, the end. No request depends on an
/// answer, so all of them are the server's input.
fn check_protocol(
    version: &str,
    words: &[OsString],
    report: &mut WiringReport,
) -> Result<(), String> {
    let client = json!({"name": "aof mcp --check", "version": env!("CARGO_PKG_VERSION")});
    let is_self_contained = version == SELF_CONTAINED;
    let first = if is_self_contained {
        ("server/discover", json!({}))
    } else {
        let hello = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        ("initialize", hello)
    };
    let status = json!({"name": "aof_status", "arguments": {}});
    let requests = [first, ("tools/list", json!({})), ("tools/call", status)];
    let mut input = String::new();
    for ((method, mut params), id) in requests.clone().into_iter().zip(0..) {
        if is_self_contained {
            let named = "io.modelcontextprotocol/clientInfo";
            params["_meta"] = json!({META_VERSION: version, named: client, META_CAPABILITIES: {}});
        }
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        input.push_str(&format!("{request}\n"));
        if method == "initialize" {
            let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            input.push_str(&format!("{begun}\n"));
        }
    }
    let [_, listed, status] = ask_server(words, &input, requests.map(|(method, _)| method))?;
    let names =
        listed["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    report.tools = names.map(str::to_owned).collect();
    report.tools_bytes = listed["tools"].to_string().len();
    let answer = &status["structuredContent"];
    if status["isError"] == true {
        // Opening the project here has already reported the same reason.
        if report.problems.is_empty() {
            let message = answer["message"].as_str().unwrap_or_default();
            return Err(message.lines().next().unwrap_or_default().to_owned());
        }
        return Ok(());
    }
    report.project = answer["project"].as_str().map(str::to_owned);
    report.branch = answer["branch"].as_str().map(str::to_owned);
    if answer["agent"].as_str() != report.agent.as_deref() {
        return Err(format!(
            "the server takes itself for {}, not for the agent that acts here",
            answer["agent"]
        ));
    }
    Ok(())
}

/// Starts this program as a server with that input, and returns the results of the requests, whose ids count from 0.
fn ask_server<const N: usize>(
    words: &[OsString],
    input: &str,
    methods: [&str; N],
) -> Result<[Value; N], String> {
    let cannot = |cause: io::Error| format!("cannot tell which program this is: {cause}");
    let this = env::current_exe().map_err(cannot)?;
    let here = env::current_dir().map_err(cannot)?;
    let words = iter::once(this.into_os_string()).chain(words.iter().cloned());
    let mut program = Program::new(words, &here).ok_or("there is no program")?;
    program.input = input.as_bytes().to_vec();
    let (how, printed) = run_and_listen(program, TIMEOUT, TIMEOUT, &Secrets::default())?;
    let complaint = String::from_utf8_lossy(&printed.stderr.bytes);
    let complaint = complaint.trim().trim_start_matches("error: ");
    match how {
        How::Exited(0) => {}
        How::Exited(code) => {
            return Err(format!("the server ended with exit code {code}: {complaint}"));
        }
        How::Signalled(signal) => {
            return Err(format!("signal {signal} ended the server: {complaint}"));
        }
        _ => return Err("the server did not end within 30 s of its client".to_owned()),
    }
    let mut answers = vec![None; N];
    for line in String::from_utf8_lossy(&printed.stdout.bytes).lines() {
        let answer: Value = serde_json::from_str(line)
            .map_err(|_| format!("the server wrote what is not JSON: {line}"))?;
        let id = answer["id"].as_u64().and_then(|id| usize::try_from(id).ok());
        if let Some(place) = id.and_then(|id| answers.get_mut(id)) {
            *place = Some(answer);
        }
    }
    let mut results = [const { Value::Null }; N];
    for ((answer, method), result) in answers.into_iter().zip(methods).zip(&mut results) {
        let mut answer = answer.ok_or_else(|| format!("no answer to `{method}`: {complaint}"))?;
        if let Some(message) = answer["error"]["message"].as_str() {
            return Err(format!("`{method}` was answered with an error: {message}"));
        }
        *result = answer["result"].take();
    }
    Ok(results)
}
