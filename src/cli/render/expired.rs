//! What ran out, in words: visits that took too long, and claims that nobody renewed.

use serde_json::{Value, json};

use crate::domain::{AgentId, Ending, OpenBranch, Task};
use crate::tasks::apply::change::Changed;
use crate::tasks::view::changed::ended;

/// Returns what happened to a visit that took too long.
pub(crate) fn timed_out(changed: &Changed) -> String {
    let task = &changed.after.task;
    let Some(visit) = ended(changed).iter().find(|visit| visit.outcome == Ending::Timeout) else {
        return format!(
            "is overdue at {}, and goes on: the gate has no `escalateTo`",
            place(task, overdue(changed))
        );
    };
    let had = visit.agent.as_ref().map(|agent| format!(", which {agent} had")).unwrap_or_default();
    let role =
        visit.escalated_to.as_ref().map(|role| format!("; it is {role}'s now")).unwrap_or_default();
    let blocked = if task.blockers.is_empty() {
        String::new()
    } else {
        format!(", and blocked: {}", task.blockers.join("; "))
    };
    format!("timed out at {}{had}{role}{blocked}", visit.station())
}

/// Returns what happened to a claim that nobody renewed.
pub(crate) fn lapsed(changed: &Changed) -> String {
    let had = loser(changed).map(|agent| format!(" of {agent}")).unwrap_or_default();
    let branch = newly(changed, |own| own.lost.is_some() && own.agent.is_none());
    format!("the claim{had} ran out at {}; it is free again", place(&changed.after.task, branch))
}

/// Returns the same for programs.
pub(crate) fn value(event: &str, changed: &Changed) -> Value {
    let task = &changed.after.task;
    let visit = ended(changed).iter().find(|visit| visit.outcome == Ending::Timeout);
    let branch = match event {
        "lapsed" => newly(changed, |own| own.lost.is_some() && own.agent.is_none())
            .map(|own| own.id.to_string()),
        _ => visit
            .map_or_else(
                || overdue(changed).map(|own| own.id.clone()),
                |visit| visit.branch.clone(),
            )
            .map(|id| id.to_string()),
    };
    json!({
        "event": event,
        "task": task.id.as_str(),
        "gate": task.gate.as_ref().map(|open| open.current.as_str()),
        "branch": branch,
        "agent": visit.and_then(|visit| visit.agent.clone()).or_else(|| loser(changed).cloned()).map(|agent| agent.to_string()),
        "escalatedTo": visit.and_then(|visit| visit.escalated_to.as_ref()).map(ToString::to_string),
        "status": task.status.as_str(),
        "path": changed.path.as_str(),
        "commit": changed.commit.map(|commit| commit.to_string()),
    })
}

/// Returns whose claim ended by the change.
fn loser(changed: &Changed) -> Option<&AgentId> {
    let branch = newly(changed, |own| own.lost.is_some() && own.agent.is_none());
    branch.map_or(changed.after.task.routing.lost.as_ref(), |own| own.lost.as_ref())
}

fn overdue(changed: &Changed) -> Option<&OpenBranch> {
    newly(changed, |own| own.overdue.is_some())
}

/// Returns the branch that has become so by the change.
fn newly(changed: &Changed, is: impl Fn(&OpenBranch) -> bool) -> Option<&OpenBranch> {
    let before = changed.before.as_ref().and_then(|file| file.task.gate.as_ref());
    let was = |own: &OpenBranch| before.and_then(|open| open.branch(&own.id)).is_some_and(&is);
    changed.after.task.gate.iter().flat_map(|open| &open.branches).find(|own| is(own) && !was(own))
}

fn place(task: &Task, branch: Option<&OpenBranch>) -> String {
    let gate = task.gate.as_ref().map(|open| open.current.to_string()).unwrap_or_default();
    branch.map_or(gate.clone(), |own| format!("{gate}/{}", own.id))
}
