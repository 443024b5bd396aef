//! Where an outcome leads (spec 1, 3.1 to 3.3).

use super::rules::{Rules, Scope};
use crate::model::{
    ConditionTrouble, Destination, Gate, GateId, OnConditionError, Outcome, RejectionStrategy, Task, Visit, Workflow,
};

/// A way through the workflow: where it ends, and what was met on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// Where the task goes.
    pub to: Destination,
    /// Gates that were passed over.
    pub skipped: Vec<GateId>,
    /// Conditions that failed on the way.
    pub trouble: Vec<ConditionTrouble>,
}

/// Returns where an outcome at the task's open gate would lead, or nothing when no visit is open.
pub fn preview(rules: &Rules, task: &Task, outcome: Outcome) -> Option<Passage> {
    let workflow = rules.workflow_of(task)?;
    let (index, _) = workflow.gate(&task.gate.as_ref()?.current)?;
    Some(route(rules, workflow, task, &task.history, index, outcome))
}

/// Returns where the outcome at the gate number `index` leads. `history` includes the visit that ends now.
pub(super) fn route(
    rules: &Rules,
    workflow: &Workflow,
    task: &Task,
    history: &[Visit],
    index: usize,
    outcome: Outcome,
) -> Passage {
    let scope = Scope::of(task, history);
    let stay = || Passage::straight(Destination::Gate(workflow.gates[index].id.clone()));
    match outcome {
        Outcome::Complete | Outcome::Skip => first_that_applies(rules, workflow, &scope, index + 1),
        Outcome::Blocked => stay(),
        Outcome::NeedsReview if workflow.holds_rejections => stay(),
        Outcome::NeedsReview => match workflow.rejection {
            RejectionStrategy::Origin => origin(rules, workflow, &scope, index),
            RejectionStrategy::Previous => match previous(workflow, history, index) {
                Some(gate) => Passage::straight(Destination::Gate(gate.id.clone())),
                None => origin(rules, workflow, &scope, index),
            },
            RejectionStrategy::Named => match &workflow.gates[index].reject_to {
                Some(gate) => Passage::straight(Destination::Gate(gate.clone())),
                None => origin(rules, workflow, &scope, index),
            },
        },
    }
}

/// Returns the first gate of the workflow that applies to the task.
pub(super) fn entry(rules: &Rules, workflow: &Workflow, task: &Task) -> Passage {
    first_that_applies(rules, workflow, &Scope::of(task, &task.history), 0)
}

fn first_that_applies(rules: &Rules, workflow: &Workflow, scope: &Scope, from: usize) -> Passage {
    let mut passage = Passage::straight(Destination::End);
    for gate in &workflow.gates[from..] {
        if applies(rules, workflow, gate, scope, &mut passage.trouble) {
            passage.to = Destination::Gate(gate.id.clone());
            break;
        }
        passage.skipped.push(gate.id.clone());
    }
    passage
}

/// Returns the way back to the first gate that applies; the list's first if none before this one does.
fn origin(rules: &Rules, workflow: &Workflow, scope: &Scope, index: usize) -> Passage {
    let mut trouble = Vec::new();
    let gate = workflow.gates[..index].iter().find(|gate| applies(rules, workflow, gate, scope, &mut trouble));
    let target = gate.unwrap_or(&workflow.gates[0]);
    Passage { to: Destination::Gate(target.id.clone()), skipped: Vec::new(), trouble }
}

/// Returns the gate before this one in the list that the task visited last.
fn previous<'a>(workflow: &'a Workflow, history: &[Visit], index: usize) -> Option<&'a Gate> {
    history
        .iter()
        .rev()
        .find_map(|visit| workflow.gate(&visit.gate).filter(|(place, _)| *place < index).map(|(_, gate)| gate))
}

fn applies(
    rules: &Rules,
    workflow: &Workflow,
    gate: &Gate,
    scope: &Scope,
    trouble: &mut Vec<ConditionTrouble>,
) -> bool {
    let Some(condition) = rules.condition(workflow, gate) else { return true };
    condition.evaluate(&scope.names()).unwrap_or_else(|error| {
        let entered = gate.on_condition_error == OnConditionError::Enter;
        trouble.push(ConditionTrouble {
            gate: gate.id.clone(),
            expression: condition.source().to_owned(),
            error: error.message,
            entered,
        });
        entered
    })
}

impl Passage {
    fn straight(to: Destination) -> Self {
        Self { to, skipped: Vec::new(), trouble: Vec::new() }
    }
}
