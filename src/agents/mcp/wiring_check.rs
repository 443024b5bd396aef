//! Proves the wiring: starts the server as a client would, speaks to it in both versions of the protocol, and looks at who it is
//! that acts.

use std::collections::BTreeSet;
use std::ffi::OsString;

use serde::Serialize;
use serde_json::json;

use super::check_client::{Conversation, Era};
use super::session::{McpError, ServerSetup};
use super::tool_error::NAME_AGENT;
use crate::domain::{AgentId, Gate, listed};
use crate::project::error::error::OpsError;
use crate::rules::Rules;
use crate::tasks::headers::lookup::known_worker;

/// What was found, as JSON shows it.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WiringReport {
    /// Whether nothing is wrong.
    pub ok: bool,
    /// The project's folder.
    pub root: Option<String>,
    /// What the project is called, as the server says it.
    pub project: Option<String>,
    /// The branch that changes are committed to, likewise.
    pub branch: Option<String>,
    /// Who acts.
    pub agent: Option<String>,
    pub roles: Vec<String>,
    /// The gates at which the agent may be handed work.
    pub gates: Vec<String>,
    /// The versions of the protocol in which a conversation went well.
    pub protocols: Vec<&'static str>,
    pub tools: Vec<String>,
    /// How much a client is told of the tools, in bytes.
    pub tools_bytes: usize,
    pub problems: Vec<WiringProblem>,
}

/// Something that is wrong.
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
}

/// Checks the wiring. `words` start the server, after the program's name.
pub(crate) fn check(setup: &ServerSetup, words: &[OsString]) -> WiringReport {
    let mut report = WiringReport::default();
    look(setup, words, &mut report);
    report.ok = report.problems.is_empty();
    report
}

fn look(setup: &ServerSetup, words: &[OsString], report: &mut WiringReport) {
    identify(setup, report);
    if let Err(error @ McpError::Human { .. }) = setup.refuse_people() {
        report.add("human_identity", error.to_string(), error.fix().unwrap_or_default());
        return;
    }
    for era in Era::ALL {
        match converse(era, words, report) {
            Ok(()) => report.protocols.push(era.version()),
            Err(problem) => report.add(
                "no_conversation",
                format!("no conversation in protocol {}: {problem}", era.version()),
                "run `aof mcp` with the same words by hand, and see what it says",
            ),
        }
    }
}

/// Finds out where the project is and who acts in it.
fn identify(setup: &ServerSetup, report: &mut WiringReport) {
    let project = match setup.open("check") {
        Ok(project) => project,
        Err(error) => return report.add(error.code(), error.problem(), fix_of(&error)),
    };
    if let Err(error) = project.workspace.own_folder_is_ours() {
        report.add(error.code(), error.problem(), fix_of(&error));
    }
    report.root = Some(project.workspace.paths.root().display().to_string());
    let rules = project.rules();
    let Some(agent) = project.viewer() else {
        if !setup.only_looks() {
            let known: Vec<_> =
                rules.org.all_agents().into_iter().filter(|agent| !agent.is_human()).collect();
            let known = if known.is_empty() {
                String::new()
            } else {
                format!("; it has {}", listed(known))
            };
            report.add(
                "no_agent",
                "it is not known which agent acts",
                format!("{NAME_AGENT}{known}"),
            );
        }
        return;
    };
    report.roles = rules.org.roles_of(&agent).map(ToString::to_string).collect();
    report.gates = gates(rules, &agent);
    if let Err(error) = known_worker(rules, &agent, None) {
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

fn fix_of(error: &OpsError) -> String {
    error.fix().unwrap_or_else(|| "see `aof status` and `aof workflow validate`".to_owned())
}

/// Returns the gates of all workflows that want a role of the agent.
fn gates(rules: &Rules, agent: &AgentId) -> Vec<String> {
    let own: BTreeSet<_> = rules.org.roles_of(agent).collect();
    let wants = |gate: &&Gate| {
        gate.roles().into_iter().any(|role| own.contains(role) || rules.is_open(role))
    };
    let mut found = Vec::new();
    for workflow in &rules.project.workflows {
        let several = rules.project.workflows.len() > 1;
        let named = |gate: &Gate| {
            if several { format!("{}/{}", workflow.name, gate.id) } else { gate.id.to_string() }
        };
        found.extend(workflow.gates.iter().filter(wants).map(named));
    }
    found
}

/// Has a whole conversation: the beginning, the list of tools, a call, the end.
fn converse(era: Era, words: &[OsString], report: &mut WiringReport) -> Result<(), String> {
    let mut conversation = Conversation::start(era, words)?;
    conversation.begin()?;
    let listed = conversation.ask("tools/list", json!({}))?;
    let names =
        listed["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    report.tools = names.map(str::to_owned).collect();
    report.tools_bytes = listed["tools"].to_string().len();
    let status = conversation.ask("tools/call", json!({"name": "aof_status", "arguments": {}}))?;
    let told = &status["structuredContent"];
    if status["isError"] == true {
        // The reason is told already: the project was looked at from here as well.
        if report.problems.is_empty() {
            let message = told["message"].as_str().unwrap_or_default();
            return Err(message.lines().next().unwrap_or_default().to_owned());
        }
        return conversation.end();
    }
    report.project = told["project"].as_str().map(str::to_owned);
    report.branch = told["branch"].as_str().map(str::to_owned);
    if told["agent"].as_str() != report.agent.as_deref() {
        return Err(format!(
            "the server takes itself for {}, not for the agent that acts here",
            told["agent"]
        ));
    }
    conversation.end()
}
