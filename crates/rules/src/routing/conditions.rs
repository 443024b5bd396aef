//! Evaluates the conditions of gates, branches and rounds for a task.

use std::cell::OnceCell;

use serde_json::{Value, json};

use crate::condition::ConditionError;
use crate::workflow::rules::Rules;
use aof_domain::{
    AgentId, ConditionTrouble, Gate, Map, OnConditionError, RoleId, Station, Task, TroubleAction,
    Visit, Workflow,
};

/// Evaluates the condition of a gate, or of a branch as a gate. Without a condition it applies.
pub(crate) fn applies(
    rules: &Rules,
    workflow: &Workflow,
    (station, gate): (Station, &Gate),
    scope: &ConditionScope<'_>,
    trouble: &mut Vec<ConditionTrouble>,
) -> bool {
    let Some(condition) = rules.condition(workflow, station) else { return true };
    condition.evaluate(&scope.names()).unwrap_or_else(|error| {
        let entered = gate.on_condition_error == OnConditionError::Enter;
        trouble.push(ConditionTrouble {
            gate: gate.id.clone(),
            expression: condition.source().to_owned(),
            error: error.message,
            action: if entered { TroubleAction::Enter } else { TroubleAction::Skip },
        });
        entered
    })
}

/// Returns whether the rounds of the workflow end there; `None` if it has none.
pub(crate) fn until_holds(
    rules: &Rules,
    workflow: &Workflow,
    task: &Task,
    history: &[Visit],
    context: &Map,
) -> Option<Result<bool, ConditionError>> {
    let until = rules.conditions.until.get(&workflow.name)?;
    let scope = ConditionScope { context, ..ConditionScope::of(task, history) };
    Some(until.evaluate(&scope.names()))
}

/// The values that conditions can read, by name.
pub(crate) struct ConditionScope<'a> {
    task: &'a Task,
    history: &'a [Visit],
    context: &'a Map,
    values: OnceCell<[Value; 7]>,
}

impl<'a> ConditionScope<'a> {
    /// Returns the scope of a task with that history.
    pub(crate) fn of(task: &'a Task, history: &'a [Visit]) -> Self {
        Self { task, history, context: &task.context, values: OnceCell::new() }
    }

    /// Returns the names with their values.
    pub(crate) fn names(&self) -> [(&str, &Value); 7] {
        let [priority, due, milestone, tags, metadata, history, context] =
            self.values.get_or_init(|| {
                [
                    json!(self.task.priority()),
                    json!(self.task.plan.due),
                    json!(self.task.plan.milestone),
                    json!(self.task.tags),
                    Value::Object(self.task.metadata.clone()),
                    self.history.iter().map(visible).collect(),
                    Value::Object(self.context.clone()),
                ]
            });
        [
            ("priority", priority),
            ("due", due),
            ("milestone", milestone),
            ("tags", tags),
            ("metadata", metadata),
            ("gateHistory", history),
            ("context", context),
        ]
    }
}

/// Returns an entry as conditions read it: the fields of spec 1, appendix B.
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
