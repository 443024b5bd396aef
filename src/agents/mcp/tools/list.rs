//! `aof_task_list`

use serde_json::{Value, json};

use super::tool::{Effect, Tool};
use crate::agents::mcp::arguments::Given;
use crate::agents::mcp::next_call::call;
use crate::agents::mcp::schema::{Argument, Field, Form};
use crate::agents::mcp::session::Project;
use crate::agents::mcp::tool_error::Trouble;
use crate::domain::Status;
use crate::tasks::headers::header::{NEW, header_value};
use crate::tasks::headers::list::{Filter, Sort, list};
use crate::tasks::headers::listing::unreadable_value;
use crate::tasks::lookup::known_names;

/// So many tasks come at once unless the call says how many.
const PAGE: usize = 20;

const STATES: &[&str] =
    &["ready", "in_progress", "blocked", "complete", "failed", "cancelled", "new"];

pub(crate) const TOOL: Tool = Tool {
    name: "aof_task_list",
    title: "List tasks",
    description: "List tasks, the most urgent first. Only active ones, unless you ask for `all` or a finished status. To get work, \
                  use aof_task_next instead: it chooses, and makes the task yours.",
    arguments: &[
        Argument::optional("mine", Form::Flag, "Only yours, and those that you may take"),
        Argument::optional("ready", Form::Flag, "Only what can be handed out now"),
        Argument::optional("status", Form::Word(STATES), ""),
        Argument::optional("gate", Form::Text, ""),
        Argument::optional("role", Form::Text, ""),
        Argument::optional("workflow", Form::Text, ""),
        Argument::optional("tag", Form::Text, ""),
        Argument::optional("search", Form::Text, "Words in id, title or tags"),
        Argument::optional("all", Form::Flag, "Finished ones, too"),
        Argument::optional("limit", Form::Count, "How many at most; 20"),
        Argument::optional("offset", Form::Count, "How many to pass over"),
    ],
    answer: &[
        ("tasks", Field::List),
        ("total", Field::Count),
        ("truncated", Field::Flag),
        ("nextCall", Field::MaybeObject),
    ],
    effect: Effect::Looks,
    run,
};

fn run(project: &Project<'_>, given: &Given) -> Result<Value, Trouble> {
    let mine = given.flag("mine");
    let status = given.text("status");
    let filter = Filter {
        workflows: given.id("workflow")?.into_iter().collect(),
        gates: given.id("gate")?.into_iter().collect(),
        roles: given.id("role")?.into_iter().collect(),
        agent: None,
        mine: if mine {
            Some(match project.viewer() {
                Some(viewer) => viewer,
                None => project.agent()?,
            })
        } else {
            None
        },
        statuses: status.iter().filter_map(|word| word.parse::<Status>().ok()).collect(),
        hand_made: status.as_deref() == Some(NEW),
        tags: given.text("tag").into_iter().collect(),
        ready: given.flag("ready"),
        search: given.text("search"),
        all: given.flag("all"),
    };
    let listing = list(&project.workspace, &project.in_force, &filter, Sort::Priority);
    known_names(&filter, project.rules(), &listing)?;
    let (from, limit) =
        (given.count("offset").unwrap_or(0), given.count("limit").unwrap_or(PAGE).max(1));
    let total = listing.tasks.len();
    let tasks: Vec<Value> = listing
        .tasks
        .iter()
        .skip(from)
        .take(limit)
        .map(|(header, path)| lean(header_value(header, path)))
        .collect();
    let end = from.saturating_add(tasks.len());
    let mut value =
        json!({"tasks": tasks, "total": total, "truncated": end < total, "nextCall": null});
    if end < total {
        let mut arguments = given.all();
        arguments.insert("offset".to_owned(), json!(end));
        value["nextCall"] = call(TOOL.name, arguments);
    }
    if !listing.unreadable.is_empty() {
        value["unreadable"] = listing.unreadable.iter().map(unreadable_value).collect();
    }
    Ok(value)
}

/// Leaves out what says nothing: a list is read by somebody who pays for each word.
fn lean(mut value: Value) -> Value {
    if let Value::Object(map) = &mut value {
        map.retain(|key, value| match value {
            Value::Null => false,
            Value::Array(items) => !items.is_empty(),
            _ => !matches!(key.as_str(), "visit" | "created" | "updated" | "path"),
        });
    }
    value
}
