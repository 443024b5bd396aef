//! Why a call of a tool was not carried out.

use serde_json::{Value, json};

use crate::dispatch::next::Claim;
use crate::domain::{AgentId, listed};
use crate::project::error::ProjectError;
use crate::project::error::reason_of;

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
