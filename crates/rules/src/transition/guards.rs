//! The requirements of a gate before a task passes it: `waitFor: children`, `check: tests` and `check: checklist`.

use std::collections::BTreeMap;

use crate::refusal::Refusal;
use crate::workflow::rules::Rules;
use aof_domain::{
    CheckResults, Destination, Ending, Facts, GateCheck, Outcome, Status, Task, TaskId, Visit,
    WaitFor, Workflow,
};

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

/// Returns whether the entry leads on from its gate. A task that is blocked, sent back, failed or cancelled does not pass it.
pub(crate) fn leads_on(workflow: &Workflow, index: usize, entry: &Visit) -> bool {
    let judged = match &entry.outcome {
        Ending::Completed(outcome) => {
            !matches!(outcome, Outcome::Blocked | Outcome::NeedsReview | Outcome::Failed)
        }
        _ => false,
    };
    let is_forward = match &entry.to {
        Some(Destination::End) => true,
        // The next item of a loop and the next round also lead on.
        Some(Destination::Gate(to)) => {
            let in_loop = entry.to_item.is_some() && entry.retry.is_none() && !entry.stays();
            !workflow.is_backward(index, to) || in_loop || entry.round.is_some()
        }
        Some(Destination::Cancelled | Destination::Fail) | None => false,
    };
    judged && is_forward
}

/// Returns whether the entry passes a gate that waits for children.
pub(crate) fn counts_children(workflow: &Workflow, index: usize, entry: &Visit) -> bool {
    workflow.gates[index].wait_for == Some(WaitFor::Children) && leads_on(workflow, index, entry)
}

/// Returns the check results that an entry keeps: those of the gate's own checks, if it passes the gate.
pub(crate) fn counted_checks(
    workflow: &Workflow,
    index: usize,
    entry: &Visit,
    found: &CheckResults,
) -> CheckResults {
    let check = &workflow.gates[index].check;
    if check.is_empty() || !leads_on(workflow, index, entry) {
        return CheckResults::default();
    }
    CheckResults {
        tests: found.tests.filter(|_| check.contains(&GateCheck::Tests)),
        checklist: found.checklist.filter(|_| check.contains(&GateCheck::Checklist)),
    }
}

/// Refuses an entry that passes a gate whose checks have not run, or have found faults.
pub(crate) fn check_results(
    workflow: &Workflow,
    index: usize,
    task: &Task,
    entry: &Visit,
    facts: &Facts,
) -> Result<(), Refusal> {
    let gate = &workflow.gates[index];
    if gate.check.is_empty() || !leads_on(workflow, index, entry) {
        return Ok(());
    }
    let found = &facts.checks;
    let has_run = |check: &GateCheck| match check {
        GateCheck::Tests => found.tests.is_some(),
        GateCheck::Checklist => found.checklist.is_some(),
    };
    let (task, id, checks) = (task.id.clone(), gate.id.clone(), gate.check.clone());
    if !gate.check.iter().all(has_run) {
        return Err(Refusal::ChecksDue { task, gate: id, checks });
    }
    let failed = found.tests.is_some_and(|tests| tests.failed > 0 || tests.passed == 0);
    if failed || found.checklist.is_some_and(|list| list.open > 0) {
        let (results, failures) = (found.clone(), facts.failures.clone());
        return Err(Refusal::ChecksFailed { task, gate: id, results, failures });
    }
    Ok(())
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

/// Returns the children that have not ended.
fn open_children(children: &BTreeMap<TaskId, Status>) -> Vec<(TaskId, Status)> {
    let open = children.iter().filter(|(_, status)| !is_over(**status));
    open.map(|(child, status)| (child.clone(), *status)).collect()
}
