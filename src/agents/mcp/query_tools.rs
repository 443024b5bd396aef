//! The read-only tools: a task, lists of tasks and workflows, the project.

use serde_json::{Value, json};

use super::next_call::call;
use super::open_project::{OpenProject, ToolError, in_tools};
use super::resources::{LONGEST_TEXT, cut_body};
use super::tool_schema::Tool;
use crate::dispatch::next::claimed;
use crate::domain::{GateId, RoleId, WorkflowName};
use crate::health::context::{CheckContext, View};
use crate::health::overview::{overview, overview_value};
use crate::operations::Effect;
use crate::operations::arguments::Arguments;
use crate::operations::fields::{InputField, InputKind};
use crate::operations::table::TASK;
use crate::project::issue::left_out_warning;
use crate::project::rule_lookup::workflows_value;
use crate::rules::Workplace;
use crate::storage::lock::is_watched;
use crate::tasks::headers::filter::{FilterKey, FilterState, TaskFilter};
use crate::tasks::headers::list::{ListRequest, Sort, check_filter_names, list};
use crate::tasks::headers::listing::unreadable_value;
use crate::tasks::headers::search::{NoWords, Query};
use crate::tasks::headers::summary::{NEW, SummaryDocument};
use crate::tasks::view::brief::brief_value;
use crate::tasks::view::task_view::{brief_of, show, warnings_value};

/// The number of tasks returned by default.
const PAGE_SIZE: usize = 20;

/// The number of bytes of a list that are returned at once. As text and as structure, the answer has at most 64 KiB.
const LONGEST_LIST: usize = 60 * 1024;

/// The share of unreadable files in a list, in bytes: the tasks have the rest, however many such files there are.
const UNREADABLE_SHARE: usize = 8 * 1024;

/// The largest size of one item in bytes, so that it fits into each list.
const LONGEST_ITEM: usize = 50 * 1024;

/// The greatest size in bytes of the list of a task's commits.
const COMMITS: usize = 4 * 1024;

/// The number of issues that the project's status shows.
const MOST_ISSUES: usize = 20;

const STATES: &[&str] =
    &["ready", "in_progress", "blocked", "waiting", "complete", "failed", "cancelled", "new"];

pub(crate) const GET: Tool = Tool {
    name: "aof_task_get",
    title: "Look at a task",
    description: "Look at a task: where it stands, its text, and `gate_context`, what is expected at its gate. Without `task`, the one \
                  that you have. Changes nothing. Long texts and histories come in parts: `truncated` is true, `rest` is the call for \
                  what follows of the text, `nextCall` the one for what was earlier.",
    arguments: &[
        TASK,
        InputField::optional("history", InputKind::Flag, "Also who did what at which gate"),
        InputField::optional("offset", InputKind::Count, "Begin `body` at this byte"),
        InputField::optional(
            "historyOffset",
            InputKind::Count,
            "Only history: how many of its latest entries to pass over",
        ),
    ],
    answer: &[
        ("id", "string"),
        ("ticket", "string"),
        ("title", "string"),
        ("status", "string"),
        ("body", "string"),
        ("available", "object"),
    ],
    effect: Effect::Reads,
};

pub(crate) fn get(project: &OpenProject<'_>, given: &Arguments) -> Result<Value, ToolError> {
    let ticket = project.task(given)?;
    let (view, _) = show(&project.workspace, &ticket.task)?;
    let rules = project.rules();
    let mut value = view.value(&project.workspace, rules);
    let workplace = Workplace::find(rules, &view.file.task, ticket.branch.as_ref());
    let context = workplace
        .and_then(|workplace| brief_of(&project.workspace, rules, &view.file, &workplace))
        .or(view.context);
    if let (Value::Object(map), Some(context)) = (&mut value, &context) {
        let Value::Object(brief) = brief_value(&view.file, context) else {
            unreachable!("a brief is an object")
        };
        map.extend(brief);
    }
    if let Value::Object(map) = &mut value {
        map.entry("title").or_insert_with(|| view.file.task.title.clone().into());
        map.entry("status").or_insert_with(|| NEW.into());
        if !given.flag("history") && given.count("historyOffset").is_none() {
            map.shift_remove("gateHistory");
        }
        if let Some(frozen) = view.frozen {
            map.insert("frozen".to_owned(), frozen.fields.into());
            map.insert("fix".to_owned(), frozen.fix.into());
        }
    }
    // If the history is asked for, it has precedence over a long body.
    let longest = if given.flag("history") { LONGEST_TEXT / 4 } else { LONGEST_TEXT };
    cut_body(&mut value, given.count("offset").unwrap_or(0), longest);
    for list in ["statements", "earlierReviews"] {
        keep_latest(&mut value, list, 0, LONGEST_ITEM);
    }
    if let Some(all) = value.get("commits").and_then(Value::as_array) {
        value["commits"] = json!(within(COMMITS, COMMITS, all.iter().cloned()));
    }
    let from = given.count("historyOffset");
    let mut room = LONGEST_LIST.saturating_sub(bytes_of(&value) - bytes_of(&value["gateHistory"]));
    if let (Some(_), Value::Object(map)) = (from, &mut value) {
        // An agent that reads on has read the rest. Each entry fits here, so reading on ends.
        let is_answer = |key: &str| GET.answer.iter().any(|(name, _)| *name == key);
        map.retain(|key, _| key == "gateHistory" || is_answer(key));
        map.insert("body".to_owned(), json!(""));
        room = LONGEST_ITEM;
    }
    keep_latest(&mut value, "gateHistory", from.unwrap_or(0), room);
    Ok(value)
}

/// Cuts a list to its latest items that fit, after skipping the `from` latest, and adds the call for earlier ones.
fn keep_latest(value: &mut Value, key: &str, from: usize, room: usize) {
    let Some(all) = value[key].as_array() else { return };
    let mut latest = within(room, LONGEST_ITEM, all.iter().rev().skip(from).cloned());
    latest.reverse();
    let (total, end) = (all.len(), from.saturating_add(latest.len()));
    value[key] = json!(latest);
    if end < total {
        value["truncated"] = json!(true);
        value[format!("{key}Total")] = json!(total);
        // The history has all that the other lists contain.
        let end = if key == "gateHistory" { end } else { 0 };
        value["nextCall"] = call(GET.name, json!({"task": value["id"], "historyOffset": end}));
    }
}

pub(crate) const LIST: Tool = Tool {
    name: "aof_task_list",
    title: "List tasks",
    description: "List tasks, the most urgent first. Only active ones, unless you ask for `all` or a finished status. To get work, \
                  use aof_task_next instead: it chooses, and makes the task yours.",
    arguments: &[
        InputField::optional(
            "filter",
            InputKind::Text,
            "Words in id, title or tags, and conditions: `role:backend`, `milestone:v1`, `priority:high`, `is:overdue`",
        ),
        InputField::optional("mine", InputKind::Flag, "Only yours, and those that you may take"),
        InputField::optional("ready", InputKind::Flag, "Only what can be handed out now"),
        InputField::optional("status", InputKind::Word(STATES), ""),
        InputField::optional("gate", InputKind::Text, ""),
        InputField::optional("role", InputKind::Text, ""),
        InputField::optional("workflow", InputKind::Text, ""),
        InputField::optional("tag", InputKind::Text, ""),
        InputField::optional(
            "search",
            InputKind::Text,
            "Words, or \"phrases\", that id, title, tags, summaries or body must have",
        ),
        InputField::optional("all", InputKind::Flag, "Finished ones, too"),
        InputField::optional("limit", InputKind::Count, "How many at most; 20"),
        InputField::optional("offset", InputKind::Count, "How many to pass over"),
    ],
    answer: &[
        ("tasks", "array"),
        ("total", "integer"),
        ("truncated", "boolean"),
        ("nextCall", "object|null"),
    ],
    effect: Effect::Reads,
};

pub(crate) fn list_tasks(project: &OpenProject<'_>, given: &Arguments) -> Result<Value, ToolError> {
    let words = given.text("filter").unwrap_or_default();
    let filter = words.parse::<TaskFilter>().map_err(|fault| {
        let fix = "as in `login role:backend is:overdue`".to_owned();
        ToolError::argument("invalid_argument", "filter", fault.to_string(), fix)
    })?;
    let filter = filter
        .with(FilterKey::Workflow, given.id::<WorkflowName>("workflow")?)
        .with(FilterKey::Gate, given.id::<GateId>("gate")?)
        .with(FilterKey::Role, given.id::<RoleId>("role")?)
        .with(FilterKey::Status, given.text("status"))
        .with(FilterKey::Tag, given.text("tag"))
        .with_state(FilterState::Mine, given.flag("mine"))
        .with_state(FilterState::Ready, given.flag("ready"));
    let states = [FilterState::Mine, FilterState::Waiting];
    let you = if states.iter().any(|state| filter.asks_for(*state)) {
        Some(project.viewer().map_or_else(|| project.agent(), Ok)?)
    } else {
        None
    };
    let search = given.text("search").map(|text| query(&text)).transpose()?;
    let request =
        ListRequest { filter, you, search, all: given.flag("all"), ..ListRequest::default() };
    let listing = list(&project.workspace, &project.in_force, &request, Sort::Priority);
    check_filter_names(&request.filter, project.rules(), &listing)?;
    let (from, limit) =
        (given.count("offset").unwrap_or(0), given.count("limit").unwrap_or(PAGE_SIZE).max(1));
    let total = listing.tasks.len();
    let listed = listing.tasks.iter().skip(from).take(limit).map(|(header, path)| {
        without_details(json!(SummaryDocument::of(header, path, project.workspace.now())))
    });
    let tasks = within(LONGEST_LIST - UNREADABLE_SHARE, LONGEST_ITEM, listed);
    let end = from.saturating_add(tasks.len());
    let mut value = json!({"tasks": tasks, "total": total, "truncated": end < total});
    value["nextCall"] = rest_call(&LIST, given, end, total);
    if !listing.unreadable.is_empty() {
        let unreadable = listing.unreadable.iter().map(unreadable_value);
        let unreadable = within(UNREADABLE_SHARE, UNREADABLE_SHARE / 2, unreadable);
        if unreadable.len() < listing.unreadable.len() {
            let all = "`aof status` names all; aof_status has the first, and how many there are";
            value["unreadableRest"] = json!(all);
        }
        value["unreadable"] = json!(unreadable);
        value["unreadableTotal"] = json!(listing.unreadable.len());
    }
    if let Some(warning) = left_out_warning(&project.workspace) {
        value["warnings"] = warnings_value(&[warning]);
    }
    Ok(value)
}

/// Returns the call for the rest of a list; null at its end.
fn rest_call(tool: &Tool, given: &Arguments, end: usize, total: usize) -> Value {
    if end >= total {
        return Value::Null;
    }
    let mut arguments = given.all();
    arguments.insert("offset".to_owned(), json!(end));
    call(tool.name, arguments)
}

/// Returns the first items that fit. An item that is too long for any list lacks its longest fields, which `leftOut` names.
fn within(mut room: usize, longest: usize, items: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut fitting = Vec::new();
    for mut item in items {
        let mut left_out = Vec::new();
        while bytes_of(&item) > longest
            && let Some(map) = item.as_object_mut()
            && let Some((key, _)) = map.iter().max_by_key(|(_, value)| bytes_of(value))
        {
            let key = key.clone();
            map.shift_remove(&key);
            left_out.push(key);
            map.insert("leftOut".to_owned(), json!(left_out));
        }
        let bytes = bytes_of(&item);
        if bytes > room {
            break;
        }
        room -= bytes;
        fitting.push(item);
    }
    fitting
}

/// Returns the size of a value in an answer, in bytes: the answer has it as structure, and within a text.
fn bytes_of(value: &Value) -> usize {
    let text = value.to_string();
    text.len() + json!(text).to_string().len()
}

fn query(text: &str) -> Result<Query, ToolError> {
    let fix = "leave `search` out, or give a word".to_owned();
    text.parse().map_err(|none: NoWords| {
        ToolError::argument("invalid_argument", "search", none.to_string(), fix)
    })
}

/// Removes empty and secondary fields: the reader of a list pays for each word.
fn without_details(mut value: Value) -> Value {
    if let Value::Object(map) = &mut value {
        map.retain(|key, value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::Array(items) => !items.is_empty(),
            _ => !matches!(key.as_str(), "visit" | "created" | "updated" | "path"),
        });
    }
    value
}

pub(crate) const WORKFLOWS: Tool = Tool {
    name: "aof_workflow_list",
    title: "List workflows",
    description: "List the workflows that you may start with aof_workflow_start. `input` names the values that one begins with: null \
                  must be given in `context`, anything else is what it is unless you say.",
    arguments: &[InputField::optional("offset", InputKind::Count, "How many to pass over")],
    answer: &[
        ("workflows", "array"),
        ("total", "integer"),
        ("truncated", "boolean"),
        ("nextCall", "object|null"),
    ],
    effect: Effect::Reads,
};

#[expect(clippy::unnecessary_wraps, reason = "all tools have one signature")]
pub(crate) fn list_workflows(
    project: &OpenProject<'_>,
    given: &Arguments,
) -> Result<Value, ToolError> {
    let mut workflows = workflows_value(project.rules(), project.viewer().as_ref());
    for workflow in workflows.as_array_mut().into_iter().flatten() {
        if let Value::Object(map) = workflow {
            map.shift_remove("hash");
            map.retain(|_, value| !value.is_null());
        }
    }
    let all = workflows.as_array().map(Vec::as_slice).unwrap_or_default();
    let (from, total) = (given.count("offset").unwrap_or(0), all.len());
    let shown = within(LONGEST_LIST, LONGEST_ITEM, all.iter().skip(from).cloned());
    let end = from.saturating_add(shown.len());
    let next = match all.first() {
        Some(first) if end >= total => {
            let arguments = json!({"workflow": first["name"], "title": "<what is to be done>"});
            call("aof_workflow_start", arguments)
        }
        _ => rest_call(&WORKFLOWS, given, end, total),
    };
    Ok(json!({"workflows": shown, "total": total, "truncated": end < total, "nextCall": next}))
}

pub(crate) const STATUS: Tool = Tool {
    name: "aof_status",
    title: "Project at a glance",
    description: "Look at the project: who you are, what you have, how many tasks there are by status, and what needs somebody's \
                  attention.",
    arguments: &[],
    answer: &[
        ("project", "string|null"),
        ("branch", "string|null"),
        ("remote", "object|null"),
        ("agent", "string|null"),
        ("roles", "array"),
        ("current", "array"),
        ("counts", "object"),
        ("attention", "array"),
    ],
    effect: Effect::Reads,
};

pub(crate) fn status(project: &OpenProject<'_>, _: &Arguments) -> Result<Value, ToolError> {
    let watcher = is_watched(&project.workspace.paths);
    let context = CheckContext::read(&project.workspace, View::Status, watcher)?;
    let mut all = overview(&context)?;
    let issues = all.attention.len();
    all.attention.truncate(MOST_ISSUES);
    for issue in &mut all.attention {
        issue.fix = issue.fix.render(in_tools).into();
    }
    let mut value = overview_value(&all);
    if let Some(unknown) = project.agent().err().filter(|_| !project.only_looks())
        && let Value::Array(attention) = &mut value["attention"]
    {
        let (code, problem, fix) = (unknown.code(), unknown.problem(), unknown.fix());
        attention.insert(0, json!({"code": code, "problem": problem, "fix": fix}));
    }
    let agent = project.viewer();
    let roles: Vec<&RoleId> =
        agent.iter().flat_map(|agent| project.rules().org.roles_of(agent)).collect();
    let claims =
        agent.iter().flat_map(|agent| claimed(&project.workspace, &project.in_force, agent, None));
    value["agent"] = json!(agent.as_ref().map(ToString::to_string));
    value["roles"] = roles.iter().map(ToString::to_string).collect();
    value["current"] = claims
        .map(|claim| json!({"task": claim.ticket.to_string(), "title": claim.title}))
        .collect();
    if issues > MOST_ISSUES {
        value["attentionTotal"] = json!(issues);
    }
    Ok(value)
}
