//! Gates that wait for the children of a task: `waitFor: children`.

use std::collections::BTreeMap;

use crate::domain::{Destination, Ending, Outcome, Status, Task, TaskId, Visit, WaitFor, Workflow};
use crate::rules::refusal::Refusal;
use crate::rules::workflow::graph::is_backward;
use crate::rules::workflow::rules::Rules;

/// Returns whether the task is at a gate that waits for its children.
pub fn waits_for_children(rules: &Rules, task: &Task) -> bool {
    let gate = task.gate.as_ref().map(|open| &open.current);
    let found = rules.workflow_of(task).zip(gate).and_then(|(workflow, id)| workflow.gate(id));
    found.is_some_and(|(_, gate)| gate.wait_for == Some(WaitFor::Children))
}

/// Returns whether a child in that state lets its parent pass.
pub fn is_over(status: Status) -> bool {
    matches!(status, Status::Complete | Status::Cancelled)
}

/// Returns whether the entry leads on from a gate that waits for children. A task that is blocked, sent back, failed or called off
/// does not pass its gate.
pub(crate) fn counts_children(workflow: &Workflow, index: usize, entry: &Visit) -> bool {
    let judged = match &entry.outcome {
        Ending::Completed(outcome) => {
            !matches!(outcome, Outcome::Blocked | Outcome::NeedsReview | Outcome::Failed)
        }
        _ => false,
    };
    let leads_on = match &entry.to {
        Some(Destination::End) => true,
        // The next item of a loop and the next round are on too.
        Some(Destination::Gate(to)) => {
            let in_loop = entry.to_item.is_some() && entry.retry.is_none() && !entry.stays();
            !is_backward(workflow, index, to) || in_loop || entry.round.is_some()
        }
        Some(Destination::Cancelled | Destination::Fail) | None => false,
    };
    workflow.gates[index].wait_for == Some(WaitFor::Children) && judged && leads_on
}

/// Returns whether the entry passed a gate that waits for children.
pub fn passes_children(rules: &Rules, task: &Task, entry: &Visit) -> bool {
    let Some(workflow) = rules.workflow_of(task) else { return false };
    workflow.gate(&entry.gate).is_some_and(|(index, _)| counts_children(workflow, index, entry))
}

/// Refuses an entry that leads on while children are open.
pub(crate) fn check_children(task: &Task, entry: &Visit) -> Result<(), Refusal> {
    let children = open_children(&entry.children);
    if children.is_empty() {
        return Ok(());
    }
    Err(Refusal::ChildrenOpen { task: task.id.clone(), gate: entry.gate.clone(), children })
}

/// Returns the children that are not over.
fn open_children(children: &BTreeMap<TaskId, Status>) -> Vec<(TaskId, Status)> {
    let open = children.iter().filter(|(_, status)| !is_over(**status));
    open.map(|(child, status)| (child.clone(), *status)).collect()
}
