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
    let scope = ConditionScope { context, ..ConditionScope::new(task, history) };
    Some(until.evaluate(&scope.names()))
}

/// The values that conditions can read, by name.
pub(crate) struct ConditionScope<'a> {
    task: &'a Task,
    history: &'a [Visit],
    context: &'a Map,
    values: OnceCell<Vec<(&'static str, Value)>>,
}

impl<'a> ConditionScope<'a> {
    /// Returns the scope of a task with that history.
    pub(crate) fn new(task: &'a Task, history: &'a [Visit]) -> Self {
        Self { task, history, context: &task.context, values: OnceCell::new() }
    }

    /// Returns the names with their values.
    pub(crate) fn names(&self) -> Vec<(&str, &Value)> {
        let values = self.values.get_or_init(|| {
            let mut values: Vec<_> = self.task.plan_values().collect();
            values.extend([
                ("tags", json!(self.task.tags)),
                ("metadata", Value::Object(self.task.metadata.clone())),
                ("gateHistory", self.history.iter().map(visible).collect()),
                ("context", Value::Object(self.context.clone())),
            ]);
            values
        });
        values.iter().map(|(name, value)| (*name, value)).collect()
    }
}

/// Returns an entry as conditions read it: the fields of spec 1, appendix B.
fn visible(visit: &Visit) -> Value {
    // Gate and branch are the station.
    let Visit {
        gate: _,
        branch: _,
        verdict: _,
        join: _,
        unfinished: _,
        item: _,
        role,
        agent,
        entered,
        exited,
        overdue: _,
        outcome,
        summary,
        blockers,
        rejection_notes,
        to: _,
        to_item: _,
        round: _,
        skipped: _,
        cleared: _,
        escalated_to: _,
        retry: _,
        outputs,
        metadata,
        children: _,
        checks: _,
        work: _,
        landed: _,
        workflow: _,
        completion: _,
        signature: _,
    } = visit;
    json!({
        "gate": visit.station().to_string(),
        "role": role.as_ref().map(RoleId::as_str),
        "agent": agent.as_ref().map(AgentId::as_str),
        "entered": entered.to_string(),
        "exited": exited.to_string(),
        "duration": visit.duration(),
        "outcome": outcome.as_str(),
        "summary": summary,
        "blockers": blockers,
        "rejectionNotes": rejection_notes,
        "outputs": outputs,
        "metadata": metadata,
    })
}
