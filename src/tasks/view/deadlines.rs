//! What of a task runs out and when, in sentences.

use crate::domain::{Ending, OpenBranch, Task};
use crate::rules::{Deadline, Limit, Rules, Workplace, deadlines};

/// Returns what runs, what has run out, and what stands still.
pub(crate) fn terms(rules: &Rules, task: &Task) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    if let Some(open) = &task.gate {
        told.extend(open.held.map(|since| {
            format!(
                "a person holds it since {since}: nothing is completed until it is set going again"
            )
        }));
        told.extend(
            open.overdue
                .map(|since| format!("it took too long at {since}, and nobody steps in for that")),
        );
        told.extend(open.branches.iter().filter_map(overdue));
    }
    told.extend(deadlines(rules, task).iter().map(|deadline| sentence(rules, task, deadline)));
    told
}

fn overdue(own: &OpenBranch) -> Option<String> {
    own.overdue.map(|since| {
        format!("branch `{}` took too long at {since}, and nobody steps in for that", own.id)
    })
}

fn sentence(rules: &Rules, task: &Task, deadline: &Deadline) -> String {
    let at = deadline.at;
    let what = deadline
        .branch
        .as_ref()
        .map_or_else(|| "it".to_owned(), |branch| format!("branch `{branch}`"));
    let post = Workplace::meant(rules, task, deadline.branch.as_ref());
    match deadline.limit {
        Limit::Lease => {
            let agent =
                post.and_then(|post| post.holder).map(ToString::to_string).unwrap_or_default();
            format!(
                "the claim of `{agent}` ends at {at} unless it is renewed: `aof task renew {}`",
                task.id
            )
        }
        Limit::Timeout => match post.and_then(|post| post.duty.escalate_to.as_ref()) {
            Some(role) => format!("{what} has time until {at}; then role `{role}` steps in"),
            None => format!("{what} has time until {at}; then it is marked overdue"),
        },
    }
}

/// Returns how a visit that took too long brought the task where it is.
pub(crate) fn stepped_in(task: &Task) -> Option<String> {
    let last = task.history.last().filter(|visit| visit.outcome == Ending::Timeout)?;
    let had =
        last.agent.as_ref().map(|agent| format!(", which `{agent}` had,")).unwrap_or_default();
    let role = last
        .escalated_to
        .as_ref()
        .map(|role| format!("; role `{role}` stepped in"))
        .unwrap_or_default();
    Some(format!(
        "its visit of gate `{}`{had} took too long at {}{role}",
        last.station(),
        last.exited
    ))
}
