//! The options of a server, and the project, which each call opens anew: rules, tasks and git's user may have changed.

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

/// The options that a server was started with.
#[derive(Debug, Clone)]
pub(crate) struct ServerSetup {
    /// A folder in the project.
    pub directory: PathBuf,
    /// The acting agent; without one, it is the agent of git's user.
    pub agent: Option<AgentId>,
    /// The visit that a runner started it for, and the run.
    pub run: Option<(Ticket, String)>,
    /// The session of the connection, which the rules may compare.
    pub session: String,
    /// Whether it has only tools that change nothing.
    pub read_only: bool,
    /// Whether the remote of a synced project is asked before something is claimed.
    pub network: Network,
    /// How long one call waits for another command.
    pub wait: Duration,
    pub clock: Clock,
}

/// The project during one call.
pub(crate) struct OpenProject<'s> {
    setup: &'s ServerSetup,
    pub(crate) workspace: Workspace,
    pub(crate) in_force: InForce,
}

impl ServerSetup {
    /// Opens the project for a call of a tool.
    pub(crate) fn open(&self, tool: &str) -> Result<OpenProject<'_>, ProjectError> {
        let Self { directory, wait, clock, network, .. } = self;
        // Clients do not show why a call waits: the log does.
        let mut workspace =
            Workspace::open(directory, format!("aof mcp ({tool})"), *clock, *wait, warn_in_log)?;
        workspace.network = *network;
        let in_force = workspace.rules()?;
        Ok(OpenProject { setup: self, workspace, in_force })
    }

    /// Fails if the server would act for a person: a program sends the calls.
    pub(crate) fn refuse_people(&self) -> Result<(), ProjectError> {
        if self.read_only {
            return Ok(());
        }
        // If the project cannot be opened, each call reports that.
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

    pub(crate) fn session(&self) -> &str {
        &self.setup.session
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

    /// Returns the visit for a call that names no task: the one that the server was started for, else the only one that the agent
    /// holds. Tasks on hold count only if there is no other one.
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
    /// An argument is unknown or invalid.
    Argument { code: &'static str, name: String, problem: String, fix: String },
    /// No task was named, and the agent holds none.
    NoCurrent { agent: AgentId },
    /// No task was named, and the agent holds several.
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

    /// Returns the error as `--json` on the command line shows it.
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

/// The commands that a hint may name, and the equivalent tools.
const TOOLS_OF_COMMANDS: &[(&str, &str)] = &[
    ("aof next", "aof_task_next"),
    ("aof show", "aof_task_get"),
    ("aof list", "aof_task_list"),
    ("aof complete", "aof_task_complete"),
    ("aof renew", "aof_task_renew"),
    ("aof release", "aof_task_release"),
    ("aof comment", "aof_task_comment"),
    ("aof new", "aof_task_create"),
    ("aof workflow list", "aof_workflow_list"),
    ("aof status", "aof_status"),
];

/// Returns a hint with commands replaced by tools.
pub(crate) fn in_tools(text: &str) -> String {
    let text = text.replace("`aof task ", "`aof ");
    TOOLS_OF_COMMANDS.iter().fold(text, |text, (command, tool)| {
        let whole = text.replace(&format!("`{command}`"), &format!("`{tool}`"));
        whole.replace(&format!("`{command} "), &format!("`{tool} "))
    })
}
