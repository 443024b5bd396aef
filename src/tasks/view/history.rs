//! A task's way through its gates.

use serde_json::{Map, Value, json};

use crate::domain::{Task, TaskId};
use crate::files::task_file::open_visit::branch_value;
use crate::files::task_file::review_value;
use crate::files::task_file::visit_entry;
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::view::task_view::show;

/// A task's way so far: its ended visits, oldest first, and the open one.
pub(crate) struct HistoryView {
    /// The task.
    pub task: Task,
    /// For how many seconds the open visit has lasted.
    pub lasting: Option<u64>,
}

/// Returns the way of a task through its gates.
pub(crate) fn history(
    workspace: &Workspace,
    id: &TaskId,
) -> Result<(HistoryView, InForce), ProjectError> {
    let (view, in_force) = show(workspace, id)?;
    let task = view.file.task;
    let now = workspace.now().as_second();
    let lasting =
        task.gate.as_ref().map(|open| u64::try_from(now - open.entered.as_second()).unwrap_or(0));
    Ok((HistoryView { task, lasting }, in_force))
}

/// Returns the way as `--json` shows it: entries as they stand in the file, and the open visit.
pub(crate) fn history_value(view: &HistoryView) -> Value {
    let task = &view.task;
    let ended: Vec<Value> = task.history.iter().map(visit_entry::write).collect();
    json!({"task": task.id.as_str(), "status": task.status.as_str(), "history": ended, "open": open(view)})
}

fn open(view: &HistoryView) -> Value {
    let (task, Some(open)) = (&view.task, &view.task.gate) else { return Value::Null };
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        map.insert(key.to_owned(), value);
    };
    put("gate", json!(open.current.as_str()));
    if !open.branches.is_empty() {
        put("branches", open.branches.iter().map(branch_value).collect());
    }
    if let Some(role) = &task.routing.role {
        put("role", json!(role.as_str()));
    }
    if let Some(agent) = &task.routing.agent {
        put("agent", json!(agent.as_str()));
    }
    put("entered", json!(open.entered.to_string()));
    put("visit", json!(open.visit));
    put("duration", json!(view.lasting));
    if !task.blockers.is_empty() {
        put("blockers", json!(task.blockers));
    }
    if let Some(review) = &task.review {
        put("reviewContext", review_value(review));
    }
    Value::Object(map)
}
