//! Why a call was not carried out, as the answer says it: the fields of `--json` on the command line, where the task stands, and
//! a call that works.

use serde_json::{Value, json};

use super::current::current;
use super::next_call::next_call;
use super::session::{Desk, Project};
use super::tools::tool::Tool;
use crate::dispatch::next::Claim;
use crate::domain::{AgentId, Map, TaskId, Ticket, listed};
use crate::project::error::error::OpsError;
use crate::project::error::reason::reason_of;
use crate::tasks::view::task_view::{show, task_value};

/// Why a call was not carried out. Nothing was changed.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The operation was not carried out.
    Ops(Box<OpsError>),
    /// An argument is not what the tool takes.
    Argument { code: &'static str, name: String, problem: String, fix: String },
    /// No task was named, and the agent has none.
    NoCurrent { agent: AgentId },
    /// No task was named, and the agent has several.
    SeveralCurrent { agent: AgentId, claims: Vec<Claim> },
}

impl<E: Into<OpsError>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Ops(Box::new(error.into()))
    }
}

impl Trouble {
    /// Returns the answer to a call that was not carried out.
    pub(crate) fn answer(&self, desk: &Desk, tool: &Tool, given: &Map) -> Value {
        let mut value = self.value();
        if let Some(message) = value["message"].as_str() {
            value["message"] = json!(in_tools(message));
        }
        let project = desk.open(tool.name).ok();
        if let (Some(project), Some(message)) = (&project, value["message"].as_str()) {
            value["message"] = json!(project.workspace.git_words.said(message.to_owned()));
        }
        let state =
            project.as_ref().and_then(|project| state(project, &self.task(project, tool, given)?));
        let agent = project.as_ref().and_then(Project::viewer);
        let next = next_call(self, tool, given, state.as_ref(), agent.as_ref());
        let next = next.filter(|next| {
            crate::agents::mcp::tools::tool::listed(desk).any(|tool| next["tool"] == tool.name)
        });
        if next.is_none() && self.is_for_people() {
            let message = value["message"].as_str().unwrap_or_default();
            value["message"] =
                json!(format!("{message}\n\nNo call mends this: tell the person you work for."));
        }
        if let Some(state) = state {
            value["state"] = state;
        }
        value["nextCall"] = next.unwrap_or(Value::Null);
        value
    }

    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Ops(error) => match &**error {
                OpsError::NoAgent { .. } => json!({
                    "error": error.code(),
                    "message": format!("{}\n\n{UNNAMED}", error.problem()),
                }),
                error => reason_of(error),
            },
            Self::Argument { code, name, problem, fix } => {
                let fix = if fix.is_empty() { String::new() } else { format!("\n\n{fix}") };
                json!({"error": code, "message": format!("{problem}{fix}"), "argument": name})
            }
            Self::NoCurrent { agent } => json!({
                "error": "no_current_task",
                "message": format!("`{agent}` has no task now, and the call names none\n\ntake one with aof_task_next, or name one in `task`"),
                "yourAgentId": agent.as_str(),
            }),
            Self::SeveralCurrent { agent, claims } => {
                let tickets: Vec<String> =
                    claims.iter().map(|claim| claim.ticket.to_string()).collect();
                let lines: Vec<String> = claims
                    .iter()
                    .map(|claim| format!("  `{}`  {}", claim.ticket, claim.title))
                    .collect();
                json!({
                    "error": "several_current_tasks",
                    "message": format!("`{agent}` has {} tasks, and the call names none\n\nname one in `task`: {}\n{}", claims.len(), listed(&tickets), lines.join("\n")),
                    "yourAgentId": agent.as_str(),
                    "tasks": tickets,
                })
            }
        }
    }

    pub(crate) fn ops(&self) -> Option<&OpsError> {
        match self {
            Self::Ops(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the task that was meant: the one that it is about, else the one named, else the one that the agent has.
    fn task(&self, project: &Project<'_>, tool: &Tool, given: &Map) -> Option<TaskId> {
        let about = self.value();
        let named = about["task"].as_str().or_else(|| given.get("task").and_then(Value::as_str));
        let ticket = match named {
            Some(named) => named.parse::<Ticket>().ok()?,
            None if tool.arguments.iter().any(|argument| argument.name == "task") => {
                current(project).ok()?
            }
            None => return None,
        };
        Some(ticket.task)
    }

    /// Returns whether it is for whoever keeps the project to mend.
    fn is_for_people(&self) -> bool {
        self.ops().is_some()
    }
}

/// What to do where nobody is named who acts: behind a server it is never git's person.
pub(crate) const UNNAMED: &str = "whoever starts this server names the agent, with `aof mcp --agent ID` or `AOF_AGENT`; the ids are in org.yaml";

/// Returns where the task stands, and who can do what about it.
fn state(project: &Project<'_>, id: &TaskId) -> Option<Value> {
    let (view, _) = show(&project.workspace, id).ok()?;
    let task = &view.file.task;
    let whole = task_value(project.rules(), &view.file, &view.path);
    Some(json!({
        "task": task.id.as_str(),
        "ticket": whole["ticket"],
        "title": task.title,
        "status": task.status.as_str(),
        "gate": task.gate.as_ref().map(|open| open.current.as_str()),
        "agent": task.routing.agent.as_ref().map(AgentId::as_str),
        "available": whole["available"],
    }))
}

/// The commands that a hint may name, and the tools that do the same.
const SAME: &[(&str, &str)] = &[
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
    SAME.iter().fold(text.to_owned(), |text, (command, tool)| {
        text.replace(&format!("`{command}"), &format!("`{tool}"))
    })
}
