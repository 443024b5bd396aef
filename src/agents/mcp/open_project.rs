//! How a server was started, and the project as each call finds it. It is opened anew each time: rules, tasks and git's user may
//! have changed since the last call.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::dispatch::next::{Claim, claimed};
use crate::domain::{AgentId, Ticket, listed};
use crate::project::active_rules::InForce;
use crate::project::error::{ProjectError, reason_of};
use crate::project::workspace::acting_agent;
use crate::project::workspace::{Clock, Network, Workspace, warn_in_log};
use crate::rules::Rules;

/// How a server was started.
#[derive(Debug, Clone)]
pub(crate) struct ServerSetup {
    /// A folder in the project.
    pub directory: PathBuf,
    /// The agent that was named; without one, the agent of git's user acts.
    pub agent: Option<AgentId>,
    /// The visit that it was started for, and the run; a runner names them.
    pub run: Option<(Ticket, String)>,
    /// Whether it has only the tools that change nothing.
    pub read_only: bool,
    /// Whether the remote of a synced project is asked before something is claimed.
    pub network: Network,
    /// How long one call waits for another command.
    pub wait: Duration,
    /// What tells the time.
    pub clock: Clock,
}

/// The project during one call.
pub(crate) struct OpenProject<'s> {
    setup: &'s ServerSetup,
    pub(crate) workspace: Workspace,
    pub(crate) in_force: InForce,
}

impl ServerSetup {
    /// Opens the project for a call of that tool.
    pub(crate) fn open(&self, tool: &str) -> Result<OpenProject<'_>, ProjectError> {
        let Self { directory, wait, clock, network, .. } = self;
        // A client does not show what a wait is for.
        let mut workspace =
            Workspace::open(directory, format!("aof mcp ({tool})"), *clock, *wait, warn_in_log)?;
        workspace.network = *network;
        let in_force = workspace.rules()?;
        Ok(OpenProject { setup: self, workspace, in_force })
    }

    /// Refuses to act for a person: anybody may be behind the program that sends the calls.
    pub(crate) fn refuse_people(&self) -> Result<(), ProjectError> {
        if self.read_only {
            return Ok(());
        }
        // Where the project cannot be opened, each call reports that.
        let of_git = || self.open("start").ok().and_then(|project| project.viewer());
        match self.agent.clone().or_else(of_git).filter(AgentId::is_human) {
            None => Ok(()),
            Some(agent) => Err(ProjectError::Unfit {
                code: "human_identity",
                problem: format!("`{agent}` is a person's, and behind a server is a program"),
                fix: "name the agent of the program with `--agent ID` or `AOF_AGENT`, or let it only look with `--read-only`; \
                      what a person has to say is said at a terminal, with `aof task complete`"
                    .to_owned(),
            }),
        }
    }
}

impl OpenProject<'_> {
    pub(crate) fn rules(&self) -> &Rules {
        &self.in_force.rules
    }

    /// Returns the visit that the server was started for, and the run.
    pub(crate) fn run(&self) -> Option<&(Ticket, String)> {
        self.setup.run.as_ref()
    }

    /// Returns who acts.
    pub(crate) fn agent(&self) -> Result<AgentId, ToolError> {
        let named = self.setup.agent.as_ref();
        Ok(acting_agent(&self.workspace, &self.rules().org, named, false)?)
    }

    /// Returns who reads, which may be a person.
    pub(crate) fn viewer(&self) -> Option<AgentId> {
        acting_agent(&self.workspace, &self.rules().org, self.setup.agent.as_ref(), true).ok()
    }

    /// Returns what a call means that names no task: the visit that the server was started for, else the one task, or branch of
    /// one, that the agent has. What a person holds counts only where there is nothing else.
    pub(crate) fn current(&self) -> Result<Ticket, ToolError> {
        let agent = self.agent()?;
        if let Some((ticket, _)) = self.run() {
            return Ok(ticket.clone());
        }
        let all = claimed(&self.workspace, &self.in_force, &agent, None);
        let (held, free): (Vec<_>, Vec<_>) = all.into_iter().partition(|claim| claim.held);
        let claims = if free.is_empty() { held } else { free };
        match claims.as_slice() {
            [] => Err(ToolError::NoCurrent { agent }),
            [only] => Ok(only.ticket.clone()),
            _ => Err(ToolError::SeveralCurrent { agent, claims }),
        }
    }
}

/// Why a call was not carried out. Nothing was changed.
#[derive(Debug)]
pub(crate) enum ToolError {
    /// The operation was not carried out.
    Ops(Box<ProjectError>),
    /// An argument is not what the tool takes.
    Argument { code: &'static str, name: String, problem: String, fix: String },
    /// No task was named, and the agent has none.
    NoCurrent { agent: AgentId },
    /// No task was named, and the agent has several.
    SeveralCurrent { agent: AgentId, claims: Vec<Claim> },
}

impl<E: Into<ProjectError>> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::Ops(Box::new(error.into()))
    }
}

impl ToolError {
    pub(crate) fn argument(
        code: &'static str,
        name: &str,
        problem: String,
        fix: impl Into<String>,
    ) -> Self {
        Self::Argument { code, name: name.to_owned(), problem, fix: fix.into() }
    }

    /// Returns the fields of `--json` on the command line.
    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Ops(error) => match &**error {
                ProjectError::NoAgent { .. } => json!({
                    "error": error.code(),
                    "message": format!("{}\n\n{NAME_AGENT}", error.problem()),
                }),
                error => reason_of(error),
            },
            Self::Argument { code, name, problem, fix } => {
                let fix = if fix.is_empty() { String::new() } else { format!("\n\n{fix}") };
                json!({"error": code, "message": format!("{problem}{fix}"), "argument": name})
            }
            Self::NoCurrent { agent } => {
                let fix = "take one with aof_task_next, or name one in `task`";
                let message =
                    format!("`{agent}` has no task now, and the call names none\n\n{fix}");
                json!({"error": "no_current_task", "message": message, "yourAgentId": agent})
            }
            Self::SeveralCurrent { agent, claims } => {
                let line = |claim: &Claim| format!("  `{}`  {}", claim.ticket, claim.title);
                let lines: Vec<String> = claims.iter().map(line).collect();
                let tickets: Vec<_> = claims.iter().map(|claim| &claim.ticket).collect();
                let message = format!(
                    "`{agent}` has {} tasks, and the call names none\n\nname one in `task`: {}\n{}",
                    claims.len(),
                    listed(&tickets),
                    lines.join("\n")
                );
                json!({
                    "error": "several_current_tasks",
                    "message": message,
                    "yourAgentId": agent,
                    "tasks": tickets,
                })
            }
        }
    }
}

/// The fix where the acting agent is unknown: a server never acts as git's person.
pub(crate) const NAME_AGENT: &str = "whoever starts this server names the agent, with `aof mcp --agent ID` or `AOF_AGENT`; the ids are in org.yaml";

/// The commands that a hint may name, and the tools that do the same.
const TOOLS_OF_COMMANDS: &[(&str, &str)] = &[
    ("aof task next", "aof_task_next"),
    ("aof task show", "aof_task_get"),
    ("aof task list", "aof_task_list"),
    ("aof task complete", "aof_task_complete"),
    ("aof task renew", "aof_task_renew"),
    ("aof task release", "aof_task_release"),
    ("aof task comment", "aof_task_comment"),
    ("aof task new", "aof_task_create"),
    ("aof workflow list", "aof_workflow_list"),
    ("aof status", "aof_status"),
];

/// Returns a hint with the tools named in place of the commands.
pub(crate) fn in_tools(text: &str) -> String {
    TOOLS_OF_COMMANDS.iter().fold(text.to_owned(), |text, (command, tool)| {
        text.replace(&format!("`{command}"), &format!("`{tool}"))
    })
}
