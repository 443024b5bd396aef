//! What two sides share, and which of them stands.

use std::fmt;

use crate::domain::{AgentId, Task, Ticket, Timestamp, Visit};
use crate::rules::replay::explain::same;
use crate::rules::routing::branch::ending;

/// One of two states that are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// What is merged into.
    Ours,
    /// What comes in.
    Theirs,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ours => "what is merged into",
            Self::Theirs => "what comes in",
        })
    }
}

/// Why two states are not merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unmergeable {
    /// One side has fewer entries than both had: a history only grows.
    #[error("{side} has {left} of the {had} entries that there were before: a history only grows")]
    Removed { side: Side, had: usize, left: usize },
    /// The two have no common beginning: they are two tasks of one name.
    #[error("they are two tasks with one id: one was created at {ours}, the other at {theirs}")]
    TwoTasks { ours: Timestamp, theirs: Timestamp },
}

/// Two states that can be merged, held against each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Apart<'t> {
    base: Option<&'t Task>,
    ours: &'t Task,
    theirs: &'t Task,
    /// So many entries they share from the beginning.
    common: usize,
    stands: Side,
}

/// Holds two states against each other, and against what both were before where that is known.
pub(crate) fn apart<'t>(
    base: Option<&'t Task>,
    ours: &'t Task,
    theirs: &'t Task,
) -> Result<Apart<'t>, Unmergeable> {
    let common =
        ours.history.iter().zip(&theirs.history).take_while(|(one, two)| one == two).count();
    match base {
        None if !is_new(ours) && !is_new(theirs) && ours.created != theirs.created => {
            return Err(Unmergeable::TwoTasks { ours: ours.created, theirs: theirs.created });
        }
        Some(base) if ours.history != theirs.history => {
            for (side, task) in [(Side::Ours, ours), (Side::Theirs, theirs)] {
                let (had, left) = (base.history.len(), task.history.len());
                if left < had && base.history.starts_with(&task.history) {
                    return Err(Unmergeable::Removed { side, had, left });
                }
            }
        }
        _ => {}
    }
    let stands = match (ours.history.len() > common, theirs.history.len() > common) {
        (true, _) => Side::Ours,
        (false, true) => Side::Theirs,
        (false, false) => without_entries(base, ours, theirs),
    };
    Ok(Apart { base, ours, theirs, common, stands })
}

/// Returns which of two states with the same history stands.
fn without_entries(base: Option<&Task>, ours: &Task, theirs: &Task) -> Side {
    let only_theirs = match (is_new(ours), is_new(theirs)) {
        (true, false) => true,
        (false, true) => false,
        _ => base.is_some_and(|base| same(base, ours)),
    };
    if only_theirs { Side::Theirs } else { Side::Ours }
}

/// Returns whether nobody has taken the task up.
pub(crate) fn is_new(task: &Task) -> bool {
    task.gate.is_none() && task.history.is_empty()
}

impl<'t> Apart<'t> {
    /// Returns the side whose history, gate and status count.
    pub(crate) fn stands(&self) -> Side {
        self.stands
    }

    pub(crate) fn standing(&self) -> &'t Task {
        match self.stands {
            Side::Ours => self.ours,
            Side::Theirs => self.theirs,
        }
    }

    pub(crate) fn other(&self) -> &'t Task {
        match self.stands {
            Side::Ours => self.theirs,
            Side::Theirs => self.ours,
        }
    }

    pub(crate) fn base(&self) -> Option<&'t Task> {
        self.base
    }

    /// Returns whether both sides have seen the visit of that number open.
    pub(crate) fn shares(&self, visit: usize) -> bool {
        visit <= self.common
    }

    /// Returns the entries of the other side that the standing one does not have, each with the visit it ended. What was settled
    /// before is none of them: a rebase merges one commit after the other.
    pub(crate) fn contested(&self) -> Vec<(Ticket, &'t Visit)> {
        let (standing, other) = (self.standing(), self.other());
        let settled = |index: usize, entry: &Visit| {
            let before = self.base.and_then(|base| base.history.get(index));
            let known = |own: &Visit| {
                own == entry || entry.completion.is_some() && own.completion == entry.completion
            };
            before == Some(entry) || standing.history[self.common..].iter().any(known)
        };
        let mut contested = Vec::new();
        let mut visit = 0;
        for (index, entry) in other.history.iter().enumerate() {
            if index >= self.common && !settled(index, entry) {
                let ticket = Ticket {
                    task: other.id.clone(),
                    visit: Some(visit),
                    branch: entry.branch.clone(),
                };
                contested.push((ticket, entry));
            }
            if !entry.leaves_open() {
                visit = index + 1;
            }
        }
        contested
    }

    /// Returns who ended the visit that stands in the place of the one that the ticket names.
    pub(crate) fn in_place_of(&self, ticket: &Ticket) -> Option<AgentId> {
        let history = &self.standing().history;
        let shared = ticket.visit.is_some_and(|visit| self.shares(visit));
        let ended = if shared { ending(history, ticket) } else { None };
        ended.or_else(|| history.get(self.common)).and_then(|entry| entry.agent.clone())
    }
}
