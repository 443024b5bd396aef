//! The options of a server, and the project, which each call opens again: rules, tasks and git's user may have changed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use jiff::civil::Date;

use crate::dispatch::next::{Claim, claimed};
use crate::domain::{AgentId, Fix, Remedy, Ticket, listed};
use crate::operations::arguments::{ArgumentFault, Arguments};
use crate::operations::{Call, CallFault, Operation};
use crate::project::active_rules::InForce;
use crate::project::error::{ProjectError, reason_of};
use crate::project::rule_lookup::check_agent;
use crate::project::workspace::{Clock, Network, Workspace, acting_agent, warn_in_log};
use crate::rules::Rules;
use crate::setup::agent_files::AgentFile;
use crate::system::client_call::ClientCall;
use crate::tasks::plan::{Changed, DryRun};

/// The options that a server was started with.
#[derive(Debug, Clone)]
pub(crate) struct ServerSetup {
    /// A folder in the project.
    pub directory: PathBuf,
    /// The acting agent as named at the start, which may not be an id; if `None`, it is the agent of git's user.
    pub agent: Option<String>,
    /// True if the agent is connected over HTTP, by its token.
    pub by_token: bool,
    /// The visit that a runner started the server for, and the run.
    pub run: Option<(Ticket, String)>,
    /// The session of the connection, which the rules may compare.
    pub session: String,
    /// True if the server has only tools that change nothing.
    pub read_only: bool,
    /// `Used` if the remote of a synced project is asked before a claim.
    pub network: Network,
    /// The time that one call waits for another command.
    pub wait: Duration,
    pub clock: Clock,
}

/// The project during one call.
pub(crate) struct OpenProject<'s> {
    setup: &'s ServerSetup,
    pub(crate) workspace: Workspace,
    pub(crate) in_force: InForce,
    /// `Yes` if the call is only tried, to see if it would be refused.
    pub(crate) dry_run: DryRun,
    /// The call of the client, which may hang up.
    pub(crate) call_of_client: Arc<ClientCall>,
}

impl ServerSetup {
    /// Opens the project for a call of a tool.
    pub(crate) fn open(&self, tool: &str) -> Result<OpenProject<'_>, ProjectError> {
        let Self { directory, wait, clock, network, .. } = self;
        // Clients do not show why a call waits: the log does.
        let mut workspace =
            Workspace::open(directory, format!("aof mcp ({tool})"), *clock, *wait, warn_in_log)?;
        workspace.network = *network;
        workspace.agents_commit = self.run.is_some();
        let in_force = workspace.rules()?;
        let call_of_client = Arc::default();
        Ok(OpenProject { setup: self, workspace, in_force, dry_run: DryRun::No, call_of_client })
    }
}

impl OpenProject<'_> {
    /// Returns the project for a call that is only tried.
    pub(crate) fn for_trial(self) -> Self {
        Self { dry_run: DryRun::Yes, ..self }
    }

    /// Returns the project for a call of a client.
    pub(crate) fn for_client(self, call: &Arc<ClientCall>) -> Self {
        Self { call_of_client: Arc::clone(call), ..self }
    }

    pub(crate) fn setup(&self) -> &ServerSetup {
        self.setup
    }

    /// Returns the time that the call waits for another command.
    pub(crate) fn lock_wait(&self) -> Duration {
        self.setup.wait
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.in_force.rules
    }

    /// Returns the day in the project's time zone.
    pub(crate) fn today(&self) -> Date {
        self.rules().project.day(self.workspace.now())
    }

    /// Returns the visit that the server was started for, and the run.
    pub(crate) fn run(&self) -> Option<&(Ticket, String)> {
        self.setup.run.as_ref()
    }

    pub(crate) fn session(&self) -> &str {
        &self.setup.session
    }

    pub(crate) fn only_looks(&self) -> bool {
        self.setup.read_only
    }

    /// Returns the agent who acts. Fails, and says how to name an agent, if the agent is unknown, a person, or not in org.yaml. An agent
    /// that has left org.yaml may still complete what it holds.
    pub(crate) fn agent(&self) -> Result<AgentId, ProjectError> {
        let unfit =
            |code, problem| ProjectError::Unfit { code, problem, fix: self.how_to_name().into() };
        let agent = match self.named() {
            Ok(agent) => agent,
            Err(error) => return Err(unfit("no_agent", error.problem())),
        };
        if agent.is_human() {
            let problem = format!("`{agent}` is a person, and a server acts for an agent");
            return Err(unfit("human_identity", problem));
        }
        if check_agent(self.rules(), &agent, None).is_err()
            && claimed(&self.workspace, &self.in_force, &agent, None).is_empty()
        {
            return Err(unfit("unknown_agent", format!("org.yaml has no agent `{agent}`")));
        }
        Ok(agent)
    }

    /// Returns the agent who reads, even if it may not act; a person only if the server changes nothing.
    pub(crate) fn viewer(&self) -> Option<AgentId> {
        let only_looks = self.setup.read_only;
        self.named().ok().filter(|agent| only_looks || !agent.is_human())
    }

    fn named(&self) -> Result<AgentId, ProjectError> {
        let Self { setup, workspace, .. } = self;
        let named = setup.agent.as_ref().map(|text| {
            text.parse::<AgentId>().map_err(|_| ProjectError::Unfit {
                code: "no_agent",
                problem: format!("`{text}`, which this server was started with, is no agent's id"),
                fix: String::new().into(),
            })
        });
        acting_agent(workspace, &self.rules().org, named.transpose()?.as_ref(), true)
    }

    /// Returns a hint how to name the agent when the server is started.
    fn how_to_name(&self) -> String {
        let all = self.rules().org.all_agents().into_iter();
        let agents: Vec<_> = all.filter(|agent| !agent.is_human()).collect();
        let agents = if agents.is_empty() {
            "org.yaml has no agent yet: add one to a role, and commit that".to_owned()
        } else {
            format!("org.yaml has {}", listed(agents))
        };
        if self.setup.by_token {
            return format!("make a token of another agent with `aof mcp token AGENT`; {agents}");
        }
        let files = AgentFile::ALL.into_iter().filter_map(|file| {
            file.client().map(|client| format!("`{}` ({client})", file.places()[0]))
        });
        format!(
            "set `AOF_AGENT` to an agent's id where the client is started, or write `--agent ID` after `mcp` in its file: {}; {agents}",
            files.collect::<Vec<_>>().join(", ")
        )
    }

    /// Returns the named task, otherwise the agent's current one.
    pub(crate) fn task(&self, given: &Arguments) -> Result<Ticket, ToolError> {
        given.id("task")?.map_or_else(|| self.current(), Ok)
    }

    /// Returns the call of an operation by the agent.
    pub(crate) fn call<'c>(&'c self, agent: &'c AgentId, given: &'c Arguments) -> Call<'c> {
        let (workspace, in_force, dry_run) = (&self.workspace, &self.in_force, self.dry_run);
        Call { workspace, in_force, by: Some(agent), given, signing: None, dry_run }
    }

    /// Runs an operation on a task.
    pub(crate) fn change(
        &self,
        operation: &Operation,
        ticket: &Ticket,
        given: &Arguments,
    ) -> Result<Changed, ToolError> {
        let agent = self.agent()?;
        Ok(operation.run(&self.call(&agent, given), Some(ticket))?.task())
    }

    /// Returns the visit for a call that names no task: the one that the server was started for, otherwise the only one that the agent
    /// holds. Tasks on hold count only if there is no other.
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

/// The reason why a call was not carried out. Nothing was changed.
#[derive(Debug)]
pub(crate) enum ToolError {
    /// The operation was not carried out.
    Ops(Box<ProjectError>),
    /// An argument is unknown or invalid.
    Argument(ArgumentFault),
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

impl From<ArgumentFault> for ToolError {
    fn from(fault: ArgumentFault) -> Self {
        Self::Argument(fault)
    }
}

impl From<CallFault> for ToolError {
    fn from(fault: CallFault) -> Self {
        match fault {
            CallFault::Argument(fault) => Self::Argument(fault),
            CallFault::Refused(error) => Self::Ops(error),
        }
    }
}

impl ToolError {
    pub(crate) fn argument(
        code: &'static str,
        name: &str,
        problem: String,
        fix: impl Into<String>,
    ) -> Self {
        Self::Argument(ArgumentFault::new(code, name, problem, fix))
    }

    /// Returns true if an argument is wrong, independently of the task's rules.
    pub(crate) fn is_of_argument(&self) -> bool {
        use ProjectError::{NoTask, Unfit, Unknown};
        match self {
            Self::Argument(_) => true,
            Self::Ops(error) => matches!(**error, NoTask { .. } | Unknown { .. } | Unfit { .. }),
            _ => false,
        }
    }

    /// Returns the error's text, with tools as fixes.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Ops(error) => error.message(in_tools),
            other => other.value()["message"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// Returns the error as `--json` on the command line shows it.
    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Ops(error) => reason_of(error),
            Self::Argument(ArgumentFault { code, name, problem, fix }) => {
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

/// Returns a proposed operation as a tool, or as a command if there is no tool for it.
pub(crate) fn in_tools(fix: &Fix) -> String {
    fix.words(match fix.operation {
        Remedy::Next => "aof_task_next",
        Remedy::Show => "aof_task_get",
        Remedy::List => "aof_task_list",
        Remedy::Complete => "aof_task_complete",
        Remedy::Renew => "aof_task_renew",
        Remedy::Release => "aof_task_release",
        Remedy::Comment => "aof_task_comment",
        Remedy::WorkflowList => "aof_workflow_list",
        Remedy::Status => "aof_status",
        _ => return fix.to_string(),
    })
}
