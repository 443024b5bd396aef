//! What leaves no entry and is lost where the other side stands: claims, and people's word that a task waits or goes on.

use super::Apart;
use crate::domain::{AgentId, Status, Task, Ticket};

/// Something that one side said, and that is said no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// The agent had taken the task.
    Claim {
        /// The visit, or the branch of it.
        ticket: Ticket,
        agent: AgentId,
    },
    /// A person had it held.
    Hold { ticket: Ticket },
    /// It was set going again.
    Unblocking { ticket: Ticket },
}

/// Returns what the side that does not stand had said of a visit that both have seen.
pub(crate) fn of(apart: &Apart<'_>, merged: &Task) -> Vec<Dropped> {
    let other = apart.other();
    let Some(open) = other.gate.as_ref().filter(|open| apart.shares(open.visit)) else {
        return Vec::new();
    };
    let before = apart.base();
    let mut dropped: Vec<Dropped> = held(other)
        .filter(|(ticket, agent)| {
            !holds(Some(merged), ticket, agent) && !holds(before, ticket, agent)
        })
        .map(|(ticket, agent)| Dropped::Claim { ticket, agent: agent.clone() })
        .collect();
    let waits = |task: &Task| task.gate.as_ref().is_some_and(|open| open.held.is_some());
    let ticket = other.ticket();
    if open.held.is_some() && !waits(merged) && !before.is_some_and(waits) {
        dropped.push(Dropped::Hold { ticket: ticket.clone() });
    }
    let blocked = |task: &Task| task.status == Status::Blocked && task.ticket() == ticket;
    if before.is_some_and(blocked) && !blocked(other) && blocked(merged) {
        dropped.push(Dropped::Unblocking { ticket });
    }
    dropped
}

/// Returns who has taken what of the open visit.
fn held(task: &Task) -> impl Iterator<Item = (Ticket, &AgentId)> {
    let branches = task.gate.iter().flat_map(|open| &open.branches);
    let at = branches.filter_map(|own| Some((task.ticket_of(Some(&own.id)), own.agent.as_ref()?)));
    at.chain(task.routing.agent.iter().map(|agent| (task.ticket(), agent)))
}

fn holds(task: Option<&Task>, ticket: &Ticket, agent: &AgentId) -> bool {
    task.is_some_and(|task| held(task).any(|own| own == (ticket.clone(), agent)))
}
