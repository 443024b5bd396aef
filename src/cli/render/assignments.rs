//! What was handed out, and what became of tasks by those that they depend on, in words.

use serde_json::{Value, json};

use crate::dispatch::hand_out::{Dependent, Given};
use crate::tasks::apply::change::Changed;

/// Returns to whom it was given.
pub(crate) fn given(given: &Given) -> String {
    format!("given to {}", given.agent)
}

/// Returns what became of the task.
pub(crate) fn dependent(dependent: &Dependent) -> String {
    match &dependent.lost[..] {
        [] => "goes on: nothing that it depends on is lost any more".to_owned(),
        lost => {
            let lost: Vec<String> = lost.iter().map(ToString::to_string).collect();
            format!("blocked: {}", lost.join("; "))
        }
    }
}

/// Returns the same for programs.
pub(crate) fn given_value(given: &Given) -> Value {
    let mut value = changed_value("claimed", given.ticket.task.as_str(), given.changed.as_deref());
    value["ticket"] = json!(given.ticket.to_string());
    value["agent"] = json!(given.agent.as_str());
    value
}

/// Returns the same for programs.
pub(crate) fn dependent_value(dependent: &Dependent) -> Value {
    let event = if dependent.lost.is_empty() { "unblocked" } else { "blocked" };
    let mut value = changed_value(event, dependent.task.as_str(), dependent.changed.as_deref());
    value["blockers"] = dependent.lost.iter().map(ToString::to_string).collect();
    value
}

fn changed_value(event: &str, task: &str, changed: Option<&Changed>) -> Value {
    let after = changed.map(|changed| &changed.after.task);
    json!({
        "event": event,
        "task": task,
        "gate": after.and_then(|task| task.gate.as_ref()).map(|open| open.current.as_str()),
        "status": after.map(|task| task.status.as_str()),
        "path": changed.map(|changed| changed.path.as_str()),
        "commit": changed.and_then(|changed| changed.commit).map(|commit| commit.to_string()),
    })
}
