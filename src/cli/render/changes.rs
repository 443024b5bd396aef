//! Changes that no command asked for: time limits, ended claims, dependencies, work handed out, new rules.

use serde_json::{Value, json};

use crate::cli::merged;
use crate::dispatch::hand_out::{Dependent, Given};
use crate::domain::{AgentId, Ending, OpenBranch, Task, Visit};
use crate::tasks::plan::Changed;
use crate::tasks::state::commit_message::{RuleEffect, rule_effect};
use crate::tasks::view::task_view::{ended, way};

/// Returns what new rules did to a task.
pub(crate) fn followed(changed: &Changed) -> String {
    let task = &changed.after.task;
    let before = changed.before.as_ref().map_or(task, |file| &file.task);
    if let Some(visit) = task.history.get(before.history.len()) {
        return format!("{} ({})", way(changed), visit.outcome);
    }
    let RuleEffect { what, details, .. } = rule_effect(before, task);
    if details.is_empty() { what } else { format!("{what}: {}", details.join("; ")) }
}

/// Returns what happened to a visit that took too long.
pub(crate) fn timed_out(changed: &Changed) -> String {
    let task = &changed.after.task;
    let Some(visit) = timeout(changed) else {
        let place = place(task, overdue(changed));
        return format!("is overdue at {place}, and goes on: the gate has no `escalateTo`");
    };
    let holder = visit.agent.as_ref();
    let holder = holder.map(|agent| format!(", which {agent} had")).unwrap_or_default();
    let role = visit.escalated_to.as_ref();
    let role = role.map(|role| format!("; it is {role}'s now")).unwrap_or_default();
    let blocked = match &task.blockers[..] {
        [] => String::new(),
        blockers => format!(", and blocked: {}", blockers.join("; ")),
    };
    format!("timed out at {}{holder}{role}{blocked}", visit.station())
}

/// Returns what happened to a claim that nobody renewed.
pub(crate) fn lapsed(changed: &Changed) -> String {
    let holder = loser(changed).map(|agent| format!(" of {agent}")).unwrap_or_default();
    let place = place(&changed.after.task, lost_branch(changed));
    format!("the claim{holder} ran out at {place}; it is free again")
}

/// Returns what became of a task because of its dependencies.
pub(crate) fn dependent(dependent: &Dependent) -> String {
    if dependent.lost.is_empty() {
        return "goes on: none of its dependencies is lost any more".to_owned();
    }
    let lost: Vec<String> = dependent.lost.iter().map(ToString::to_string).collect();
    format!("blocked: {}", lost.join("; "))
}

/// Returns a change that a time limit made as JSON; `event` is `timeout` or `lapsed`.
pub(crate) fn time_limit_value(event: &str, changed: &Changed) -> Value {
    let task = &changed.after.task;
    let visit = timeout(changed);
    let branch = match (event, visit) {
        ("lapsed", _) => lost_branch(changed).map(|own| own.id.clone()),
        (_, Some(visit)) => visit.branch.clone(),
        (_, None) => overdue(changed).map(|own| own.id.clone()),
    };
    json!({
        "event": event,
        "task": task.id,
        "gate": task.gate.as_ref().map(|open| &open.current),
        "branch": branch,
        "agent": visit.and_then(|visit| visit.agent.as_ref()).or_else(|| loser(changed)),
        "escalatedTo": visit.and_then(|visit| visit.escalated_to.as_ref()),
        "status": task.status,
        "path": changed.path,
        "commit": changed.commit,
    })
}

/// Returns work that was given to an agent as JSON.
pub(crate) fn given_value(given: &Given) -> Value {
    let change = change_value("claimed", given.ticket.task.as_str(), given.changed.as_deref());
    merged(change, json!({"ticket": given.ticket, "agent": given.agent}))
}

/// Returns what became of a task because of its dependencies as JSON.
pub(crate) fn dependent_value(dependent: &Dependent) -> Value {
    let event = if dependent.lost.is_empty() { "unblocked" } else { "blocked" };
    let lost: Vec<String> = dependent.lost.iter().map(ToString::to_string).collect();
    let change = change_value(event, dependent.task.as_str(), dependent.changed.as_deref());
    merged(change, json!({"blockers": lost}))
}

/// Returns where a task is after a change as JSON; what is unknown in a dry run is null.
pub(crate) fn change_value(event: &str, task: &str, changed: Option<&Changed>) -> Value {
    let after = changed.map(|changed| &changed.after.task);
    json!({
        "event": event,
        "task": task,
        "gate": after.and_then(|task| task.gate.as_ref()).map(|open| &open.current),
        "status": after.map(|task| task.status),
        "path": changed.map(|changed| &changed.path),
        "commit": changed.and_then(|changed| changed.commit),
    })
}

fn timeout(changed: &Changed) -> Option<&Visit> {
    ended(changed).iter().find(|visit| visit.outcome == Ending::Timeout)
}

/// Returns whose claim the change ended.
fn loser(changed: &Changed) -> Option<&AgentId> {
    lost_branch(changed)
        .map_or(changed.after.task.routing.lost.as_ref(), |branch| branch.lost.as_ref())
}

fn lost_branch(changed: &Changed) -> Option<&OpenBranch> {
    newly(changed, |branch| branch.lost.is_some() && branch.agent.is_none())
}

fn overdue(changed: &Changed) -> Option<&OpenBranch> {
    newly(changed, |branch| branch.overdue.is_some())
}

/// Returns the branch that became so by the change.
fn newly(changed: &Changed, is: impl Fn(&OpenBranch) -> bool) -> Option<&OpenBranch> {
    let before = changed.before.as_ref().and_then(|file| file.task.gate.as_ref());
    let was = |own: &OpenBranch| before.and_then(|open| open.branch(&own.id)).is_some_and(&is);
    changed.after.task.gate.iter().flat_map(|open| &open.branches).find(|own| is(own) && !was(own))
}

fn place(task: &Task, branch: Option<&OpenBranch>) -> String {
    let gate = task.gate.as_ref().map(|open| open.current.to_string()).unwrap_or_default();
    branch.map_or(gate.clone(), |own| format!("{gate}/{}", own.id))
}
