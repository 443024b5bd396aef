//! What it was that the rules did to a task without moving it, told from the task before and after: in commits, and on the screen.

use crate::domain::{AgentId, GateId, RoleId, Status, Task};

/// What was done, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Following {
    /// The event, as a commit names it.
    pub event: &'static str,
    /// The whole in short.
    pub what: String,
    /// One by one: roles, agents that lost the work, what is in the way now.
    pub details: Vec<String>,
}

/// Returns what led from one to the other. They differ in their roles, in who has what, or in who there is.
pub(crate) fn following(before: &Task, after: &Task) -> Following {
    let gate = after.gate.as_ref().map(|open| open.current.to_string()).unwrap_or_default();
    let (old, new) = (parts(before), parts(after));
    let mut details = Vec::new();
    let mut routes = Vec::new();
    for (old, new) in old.iter().zip(&new) {
        let at = new.branch.map(|branch| format!("{branch}: ")).unwrap_or_default();
        if let (Some(from), Some(to)) = (old.role, new.role)
            && from != to
        {
            details.extend(new.branch.map(|branch| format!("{branch}: from role {from} to {to}")));
            routes.push(format!("{from} to {to}"));
        }
        if let Some(agent) = old.agent.filter(|_| new.agent.is_none()) {
            details.push(format!("{at}{agent} may not complete it, and does not have it any more"));
        }
    }
    let (event, what) = match (&routes[..], &details[..], before.status, after.status) {
        ([route], ..) if old.len() == 1 => ("rerouted", format!("rerouted from {route} at {gate}")),
        ([], [], Status::Blocked, Status::Ready | Status::InProgress) => {
            ("unblocked", format!("unblocked at {gate}"))
        }
        ([], [], _, Status::Blocked) => ("blocked", format!("blocked at {gate}")),
        _ => ("rerouted", format!("rerouted at {gate}")),
    };
    if after.status == Status::Blocked {
        details.extend(after.blockers.iter().cloned());
    }
    Following { event, what, details }
}

/// Whose a part of the work is: the whole, or a branch.
struct Part<'t> {
    branch: Option<&'t GateId>,
    role: Option<&'t RoleId>,
    agent: Option<&'t AgentId>,
}

fn parts(task: &Task) -> Vec<Part<'_>> {
    let whole =
        Part { branch: None, role: task.routing.role.as_ref(), agent: task.routing.agent.as_ref() };
    let branches = task.gate.iter().flat_map(|open| &open.branches);
    let branches = branches.map(|own| Part {
        branch: Some(&own.id),
        role: Some(&own.role),
        agent: own.agent.as_ref(),
    });
    std::iter::once(whole).chain(branches).collect()
}
