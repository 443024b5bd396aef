//! What the conditions of a workflow see of a task. Made when the first of them asks: most gates have none, and a history is long.

use std::cell::OnceCell;

use serde_json::{Value, json};

use crate::domain::{AgentId, RoleId, Task, Visit};

/// What conditions may speak of, by name.
pub(crate) struct ConditionScope<'a> {
    task: &'a Task,
    history: &'a [Visit],
    values: OnceCell<[Value; 4]>,
}

impl<'a> ConditionScope<'a> {
    /// Returns the scope of a task with that history.
    pub(crate) fn of(task: &'a Task, history: &'a [Visit]) -> Self {
        Self { task, history, values: OnceCell::new() }
    }

    /// Returns the values with their names.
    pub(crate) fn names(&self) -> [(&str, &Value); 4] {
        let [tags, metadata, history, context] = self.values.get_or_init(|| {
            [
                json!(self.task.tags),
                Value::Object(self.task.metadata.clone()),
                self.history.iter().map(visible).collect(),
                Value::Object(self.task.context.clone()),
            ]
        });
        [("tags", tags), ("metadata", metadata), ("gateHistory", history), ("context", context)]
    }
}

/// Returns an entry as conditions see it: the fields of spec 1, appendix B.
fn visible(visit: &Visit) -> Value {
    json!({
        "gate": visit.station().to_string(),
        "role": visit.role.as_ref().map(RoleId::as_str),
        "agent": visit.agent.as_ref().map(AgentId::as_str),
        "entered": visit.entered.to_string(),
        "exited": visit.exited.to_string(),
        "duration": visit.duration(),
        "outcome": visit.outcome.as_str(),
        "summary": visit.summary,
        "blockers": visit.blockers,
        "rejectionNotes": visit.rejection_notes,
        "outputs": visit.outputs,
        "metadata": visit.metadata,
    })
}
