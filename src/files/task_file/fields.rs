//! A task as the fields of its file: what people say of it, and what the engine does.

use serde_json::{Value, json};

use super::{applying, open_visit};
use crate::domain::{Map, ReviewContext, Task};

/// Returns what is said of a task, as far as it is said, its history aside: by people first, then by the engine.
pub(crate) fn fields(task: &Task) -> Map {
    let people = json!({
        "title": task.title,
        "description": task.description,
        "tags": task.tags,
        "metadata": task.metadata,
        "dependsOn": task.depends_on,
    });
    let own = json!({
        "id": task.id,
        "status": task.status,
        "created": task.created,
        "updated": task.updated,
        "routing": applying(json!({
            "workflow": task.routing.workflow,
            "role": task.routing.role,
            "agent": task.routing.agent,
            "claimed": task.routing.claimed,
            "lost": task.routing.lost,
        })),
        "gate": task.gate.as_ref().map(open_visit::write),
        "reviewContext": task.review.as_ref().map(review_value),
        "blockers": task.blockers,
        "context": task.context,
        "workflowHash": task.workflow_hash,
    });
    let mut all = applying(people);
    all.extend(applying(own));
    all
}

/// Returns the review context as files and JSON show it.
pub fn review_value(review: &ReviewContext) -> Value {
    let mut fields = applying(json!({
        "fromGate": review.from_gate,
        "fromAgent": review.from_agent,
        "fromRole": review.from_role,
        "timestamp": review.timestamp,
    }));
    fields.insert("blockers".to_owned(), json!(review.blockers));
    fields.extend(review.notes.as_ref().map(|notes| ("notes".to_owned(), json!(notes))));
    Value::Object(fields)
}
