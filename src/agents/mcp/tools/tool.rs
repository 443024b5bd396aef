//! The tools, in the order in which a model meets them. Each file holds what one of them says of itself and what it does.

use super::comment;
use super::complete;
use super::create;
use super::get;
use super::list;
use super::next;
use super::release;
use super::renew;
use super::start;
use super::status;
use super::workflows;
use std::sync::Arc;

use rmcp::model::ToolAnnotations;
use serde_json::Value;

use crate::agents::mcp::arguments::Given;
use crate::agents::mcp::next_call::{look, next_task};
use crate::agents::mcp::schema;
use crate::agents::mcp::schema::{Argument, Field, Form};
use crate::agents::mcp::session::{Desk, Project};
use crate::agents::mcp::tool_error::Trouble;
use crate::domain::{AgentId, Map};
use crate::rules::Post;
use crate::tasks::apply::change::Changed;
use crate::tasks::view::task_view::who;

/// A tool.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) arguments: &'static [Argument],
    pub(crate) answer: &'static [(&'static str, Field)],
    pub(crate) effect: Effect,
    pub(crate) run: fn(&Project<'_>, &Given) -> Result<Value, Trouble>,
}

/// What a call does to the project, for clients that ask a person first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Looks,
    /// Something, which a second call of the same kind does not do again.
    Settles,
    /// Something each time.
    Adds,
}

/// The task that is meant, in tools that mean one.
pub(crate) const TASK: Argument = Argument::optional(
    "task",
    Form::Text,
    "As in AOF-7qk, or a ticket, as in AOF-7qk@3; left out: the one that you have",
);

/// All of them.
pub(crate) const ALL: &[Tool] = &[
    next::TOOL,
    get::TOOL,
    list::TOOL,
    complete::TOOL,
    renew::TOOL,
    release::TOOL,
    create::TOOL,
    comment::TOOL,
    workflows::TOOL,
    start::TOOL,
    status::TOOL,
];

/// Returns those that this server has.
pub(crate) fn listed(desk: &Desk) -> impl Iterator<Item = &'static Tool> {
    let only_looks = desk.only_looks();
    ALL.iter().filter(move |tool| !only_looks || tool.effect == Effect::Looks)
}

/// Carries out a call. What is refused comes back as an answer, too.
pub(crate) fn call(desk: &Desk, tool: &Tool, arguments: &Map) -> Result<Value, Value> {
    let answer = || {
        let given = Given::check(tool, arguments.clone())?;
        (tool.run)(&desk.open(tool.name)?, &given)
    };
    answer().map_err(|trouble: Trouble| trouble.answer(desk, tool, arguments))
}

impl Tool {
    /// Returns the tool as clients see it. Nothing that a tool does is destructive: histories only grow, in git.
    pub(crate) fn shown(&self) -> rmcp::model::Tool {
        let hints = ToolAnnotations::new()
            .read_only(self.effect == Effect::Looks)
            .destructive(false)
            .idempotent(self.effect != Effect::Adds)
            .open_world(false);
        let mut shown =
            rmcp::model::Tool::new(self.name, self.description, schema::input(self.arguments));
        shown.title = Some(self.title.to_owned());
        shown.output_schema = Some(Arc::new(schema::output(self.answer)));
        shown.annotations = Some(hints);
        shown
    }
}

/// Returns where a task stands now, in a sentence, and what the agent does next: its work, if it has more to do with the task.
pub(crate) fn standing(project: &Project<'_>, changed: &Changed) -> (String, Value) {
    let task = &changed.after.task;
    let id = &task.id;
    let Some(open) = &task.gate else {
        return (format!("{id} is {}", task.status), next_task());
    };
    let agents: Vec<AgentId> = who(project.rules(), &changed.after);
    let names: Vec<&str> = agents.iter().map(AgentId::as_str).collect();
    let turn = match (task.status, &names[..]) {
        (crate::domain::Status::Blocked, _) => format!("blocked: {}", task.blockers.join("; ")),
        (status, []) => status.to_string().replace('_', " "),
        (status, names) => {
            format!("{} for {}", status.to_string().replace('_', " "), names.join(" or "))
        }
    };
    let open_posts = Post::open(project.rules(), task);
    let own = project.viewer().is_some_and(|me| agents.contains(&me)) && !open_posts.is_empty();
    let next = if own { next_task() } else { look(id) };
    (format!("{id} is now at gate `{}`, {turn}", open.current), next)
}
