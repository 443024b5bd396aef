//! Proves the wiring: starts the server as a client would, speaks to it in both versions of the protocol, and looks at who it is
//! that acts.

use std::collections::BTreeSet;
use std::ffi::OsString;

use serde_json::{Value, json};

use super::child::{Conversation, Era};
use crate::agents::mcp::serve::{McpError, Setup};
use crate::agents::mcp::session::Desk;
use crate::agents::mcp::tool_error::UNNAMED;
use crate::domain::{AgentId, Gate, listed};
use crate::project::error::error::OpsError;
use crate::rules::Rules;
use crate::tasks::lookup::known_worker;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// The project's folder.
    pub root: Option<String>,
    /// What the project is called, as the server says it.
    pub project: Option<String>,
    /// The branch that changes are committed to, likewise.
    pub branch: Option<String>,
    /// Who acts.
    pub agent: Option<AgentId>,
    /// Its roles.
    pub roles: Vec<String>,
    /// The gates at which it may be handed work.
    pub gates: Vec<String>,
    /// The versions of the protocol in which a conversation went well.
    pub protocols: Vec<&'static str>,
    /// The tools.
    pub tools: Vec<String>,
    /// How much a client is told of them, in bytes.
    pub tools_bytes: usize,
    /// What is wrong; nothing where all is well.
    pub findings: Vec<Finding>,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// What kind it is: stable, for JSON.
    pub code: &'static str,
    /// What is the matter.
    pub problem: String,
    /// What to do.
    pub fix: String,
}

impl Checked {
    fn find(&mut self, code: &'static str, problem: impl Into<String>, fix: impl Into<String>) {
        let finding = Finding { code, problem: problem.into(), fix: fix.into() };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Returns what was found, for programs.
    pub(crate) fn value(&self) -> Value {
        let findings: Vec<Value> = self
            .findings
            .iter()
            .map(|finding| json!({"code": finding.code, "problem": finding.problem, "fix": finding.fix}))
            .collect();
        json!({
            "ok": self.findings.is_empty(),
            "root": self.root,
            "project": self.project,
            "branch": self.branch,
            "agent": self.agent.as_ref().map(AgentId::as_str),
            "roles": self.roles,
            "gates": self.gates,
            "protocols": self.protocols,
            "tools": self.tools,
            "toolsBytes": self.tools_bytes,
            "problems": findings,
        })
    }
}

/// Checks the wiring. `words` start the server, after the program's name.
pub(crate) fn check(setup: Setup, words: &[OsString]) -> Checked {
    let mut checked = Checked::default();
    let desk = Desk::new(setup);
    identify(&desk, &mut checked);
    if let Err(McpError::Human { agent }) = desk.refuse_people() {
        let error = McpError::Human { agent };
        checked.find("human_identity", error.to_string(), error.fix().unwrap_or_default());
        return checked;
    }
    for era in Era::ALL {
        match converse(era, words, &mut checked) {
            Ok(()) => checked.protocols.push(era.version()),
            Err(problem) => checked.find(
                "no_conversation",
                format!("no conversation in protocol {}: {problem}", era.version()),
                "run `aof mcp` with the same words by hand, and see what it says",
            ),
        }
    }
    checked
}

/// Finds out where the project is and who acts in it.
fn identify(desk: &Desk, checked: &mut Checked) {
    let project = match desk.open("check") {
        Ok(project) => project,
        Err(error) => return checked.find(error.code(), error.problem(), fix_of(&error)),
    };
    if let Err(error) = project.workspace.own_folder_is_ours() {
        checked.find(error.code(), error.problem(), fix_of(&error));
    }
    checked.root = Some(project.workspace.paths.root().display().to_string());
    let rules = project.rules();
    let Some(agent) = project.viewer() else {
        if !desk.only_looks() {
            let known: Vec<_> =
                rules.org.all_agents().into_iter().filter(|agent| !agent.is_human()).collect();
            let known = if known.is_empty() {
                String::new()
            } else {
                format!("; it has {}", listed(known))
            };
            checked.find(
                "no_agent",
                "it is not known which agent acts",
                format!("{UNNAMED}{known}"),
            );
        }
        return;
    };
    checked.roles = rules.org.roles_of(&agent).map(ToString::to_string).collect();
    checked.gates = gates(rules, &agent);
    if let Err(error) = known_worker(rules, &agent, None) {
        let role =
            rules.org.roles.first().map_or_else(|| "ROLE".to_owned(), |(role, _)| role.to_string());
        let fix = format!(
            "add it to a role in org.yaml, as in `{role}: {{agents: [{agent}]}}`, and commit that; {}",
            fix_of(&error)
        );
        checked.find(
            "unknown_agent",
            format!("`{agent}` is not in org.yaml, so no task is ever handed to it"),
            fix,
        );
    } else if checked.roles.is_empty() && !rules.project.implicit_workflow {
        let problem = format!("`{agent}` is in no role, so no task is ever handed to it");
        checked.find("no_role", problem, "add it to a role in org.yaml, and commit that");
    } else if checked.gates.is_empty() && !rules.project.implicit_workflow {
        let problem = format!("no gate wants a role of `{agent}`, so no task is ever handed to it");
        checked.find("no_gate", problem, "see the roles of the gates with `aof workflow show`");
    }
    checked.agent = Some(agent);
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
fn converse(era: Era, words: &[OsString], checked: &mut Checked) -> Result<(), String> {
    let mut conversation = Conversation::start(era, words)?;
    conversation.begin()?;
    let listed = conversation.ask("tools/list", json!({}))?;
    let names =
        listed["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    checked.tools = names.map(str::to_owned).collect();
    checked.tools_bytes = listed["tools"].to_string().len();
    let status = conversation.ask("tools/call", json!({"name": "aof_status", "arguments": {}}))?;
    let told = &status["structuredContent"];
    if status["isError"] == true {
        // Why is told already: the project was looked at from here as well.
        let message = told["message"]
            .as_str()
            .unwrap_or_default()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        if checked.findings.is_empty() {
            return Err(message);
        }
        return conversation.end();
    }
    checked.project = told["project"].as_str().map(str::to_owned);
    checked.branch = told["branch"].as_str().map(str::to_owned);
    if told["agent"].as_str() != checked.agent.as_ref().map(AgentId::as_str) {
        return Err(format!(
            "the server takes itself for {}, not for the agent that acts here",
            told["agent"]
        ));
    }
    conversation.end()
}
