//! A task as the fields of its file: what people say of it, and what the engine does.

use serde_json::{Value, json};

use super::open_visit;
use crate::domain::{Map, ReviewContext, Routing, Task, TaskId};
use crate::files::timestamp::put_time;

/// Returns what people say of a task, as far as it is said.
pub(crate) fn people_fields(task: &Task) -> Vec<(&'static str, Value)> {
    let mut fields = vec![("title", json!(task.title))];
    fields.extend(task.description.as_ref().map(|text| ("description", json!(text))));
    fields.extend(some(!task.tags.is_empty(), "tags", || json!(task.tags)));
    fields.extend(some(!task.metadata.is_empty(), "metadata", || json!(task.metadata)));
    let ids: Vec<&str> = task.depends_on.iter().map(TaskId::as_str).collect();
    fields.extend(some(!ids.is_empty(), "dependsOn", || json!(ids)));
    fields
}

/// Returns what the engine says of a task, its history aside.
pub(crate) fn own_fields(task: &Task) -> Vec<(&'static str, Value)> {
    let mut fields = vec![
        ("id", json!(task.id.as_str())),
        ("status", json!(task.status.as_str())),
        ("created", json!(task.created.to_string())),
        ("updated", json!(task.updated.to_string())),
        ("routing", routing_value(&task.routing)),
    ];
    fields.extend(task.gate.as_ref().map(|gate| ("gate", open_visit::write(gate))));
    fields.extend(task.review.as_ref().map(|review| ("reviewContext", review_value(review))));
    fields.extend(some(!task.blockers.is_empty(), "blockers", || json!(task.blockers)));
    fields.extend(some(!task.context.is_empty(), "context", || json!(task.context)));
    fields.extend(task.workflow_hash.as_ref().map(|hash| ("workflowHash", json!(hash))));
    fields
}

fn some(
    there: bool,
    key: &'static str,
    value: impl FnOnce() -> Value,
) -> Option<(&'static str, Value)> {
    there.then(|| (key, value()))
}

fn routing_value(routing: &Routing) -> Value {
    let mut map = Map::new();
    map.insert("workflow".to_owned(), json!(routing.workflow.as_str()));
    if let Some(role) = &routing.role {
        map.insert("role".to_owned(), json!(role.as_str()));
    }
    if let Some(agent) = &routing.agent {
        map.insert("agent".to_owned(), json!(agent.as_str()));
    }
    put_time(&mut map, "claimed", routing.claimed);
    if let Some(agent) = &routing.lost {
        map.insert("lost".to_owned(), json!(agent.as_str()));
    }
    Value::Object(map)
}

/// Returns the review context as files and JSON show it.
pub fn review_value(review: &ReviewContext) -> Value {
    let mut map = Map::new();
    map.insert("fromGate".to_owned(), json!(review.from_gate.as_str()));
    if let Some(agent) = &review.from_agent {
        map.insert("fromAgent".to_owned(), json!(agent.as_str()));
    }
    if let Some(role) = &review.from_role {
        map.insert("fromRole".to_owned(), json!(role.as_str()));
    }
    map.insert("timestamp".to_owned(), json!(review.timestamp.to_string()));
    map.insert("blockers".to_owned(), json!(review.blockers));
    if let Some(notes) = &review.notes {
        map.insert("notes".to_owned(), json!(notes));
    }
    Value::Object(map)
}
