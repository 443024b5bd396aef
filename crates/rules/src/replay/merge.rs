//! Merges two diverged states of one task. The same states and the same rules give the same task on any machine.
//!
//! Engine fields are taken as a whole from one side, the winning one. A visit ends once: of two entries that end the same visit,
//! the winning side's counts, and the other is superseded with all entries after it. Only verdicts of branches of a fork that is
//! still open on the winning side are decided again on top of it. People's fields are merged key by key, by `merge_keys`.

use std::fmt;

use serde_json::Value;

pub use super::with_people_of;
use crate::replay::{apply_entry, same_engine_fields};
use crate::routing::fork::ending_entry;
use crate::signing::flaw;
use crate::workflow::rules::Rules;
use aof_domain::{AgentId, Ending, Map, Status, Task, Ticket, Timestamp, Visit};

/// The result of a merge of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    pub task: Task,
    /// Entries of the other side that no longer count, oldest first.
    pub superseded: Vec<Superseded>,
    /// The number of entries of the other side that were decided again: the last ones of the history.
    pub redone: usize,
    /// Acts of the other side without an entry that no longer count.
    pub dropped: Vec<Dropped>,
}

/// An entry that no longer counts, since its visit ended in another way.
#[derive(Debug, Clone, PartialEq)]
pub struct Superseded {
    /// The visit that it ended, as numbered on its own side.
    pub ticket: Ticket,
    pub visit: Visit,
    /// The agent that ended the visit on the winning side, if it is one of org.yaml.
    pub by: Option<AgentId>,
}

/// Merges the two states. People's fields are taken from `people`, since conditions read them.
pub fn merge(rules: &Rules, sides: &Sides<'_>, people: &Task) -> Merged {
    let standing = sides.standing();
    let mut task =
        if standing.is_new() { people.clone() } else { with_people_of(standing, people) };
    let (mut superseded, mut redone) = (Vec::new(), 0);
    for (ticket, entry) in sides.contested() {
        match decide_again(rules, sides, &task, &ticket, entry) {
            Some(next) => {
                task = next;
                redone += 1;
            }
            None => superseded.push(Superseded {
                by: sides.in_place_of(&ticket),
                ticket,
                visit: entry.clone(),
            }),
        }
    }
    let dropped = dropped(sides, &task);
    Merged { task, superseded, redone, dropped }
}

/// One of two states that are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The side that is merged into.
    Ours,
    /// The side that is merged.
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

/// The reason why two states are not merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeRefusal {
    /// One side has fewer entries than the base, though a history only grows.
    #[error("{side} has {left} of the {had} entries that there were before: a history only grows")]
    Removed { side: Side, had: usize, left: usize },
    /// The two states have no common beginning: they are two tasks with one id.
    #[error("they are two tasks with one id: one was created at {ours}, the other at {theirs}")]
    TwoTasks { ours: Timestamp, theirs: Timestamp },
}

/// Two states that can be merged.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'t> {
    base: Option<&'t Task>,
    ours: &'t Task,
    theirs: &'t Task,
    /// The number of entries that they share.
    common: usize,
    stands: Side,
}

/// Compares two states with each other and with their base, if known. Fails if they cannot be merged.
pub fn sides<'t>(
    base: Option<&'t Task>,
    ours: &'t Task,
    theirs: &'t Task,
) -> Result<Sides<'t>, MergeRefusal> {
    let common =
        ours.history.iter().zip(&theirs.history).take_while(|(one, two)| one == two).count();
    match base {
        None if !ours.is_new() && !theirs.is_new() && ours.created != theirs.created => {
            return Err(MergeRefusal::TwoTasks { ours: ours.created, theirs: theirs.created });
        }
        Some(base) if ours.history != theirs.history => {
            for (side, task) in [(Side::Ours, ours), (Side::Theirs, theirs)] {
                let (had, left) = (base.history.len(), task.history.len());
                if left < had && base.history.starts_with(&task.history) {
                    return Err(MergeRefusal::Removed { side, had, left });
                }
            }
        }
        _ => {}
    }
    let stands = match (ours.history.len() > common, theirs.history.len() > common) {
        (true, _) => Side::Ours,
        (false, true) => Side::Theirs,
        (false, false) => standing_side_without_entries(base, ours, theirs),
    };
    Ok(Sides { base, ours, theirs, common, stands })
}

/// Returns the winning one of two states with the same history.
fn standing_side_without_entries(base: Option<&Task>, ours: &Task, theirs: &Task) -> Side {
    let only_theirs = match (ours.is_new(), theirs.is_new()) {
        (true, false) => true,
        (false, true) => false,
        _ => base.is_some_and(|base| same_engine_fields(base, ours)),
    };
    if only_theirs { Side::Theirs } else { Side::Ours }
}

impl<'t> Sides<'t> {
    /// Returns the side whose history, gate and status count.
    pub fn stands(&self) -> Side {
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

    /// Returns whether the visit of that number was open on both sides.
    pub(crate) fn shares(&self, visit: usize) -> bool {
        visit <= self.common
    }

    /// Returns the entries that only the losing side has, each with the visit that it ended. Entries that an earlier merge carried
    /// over are left out: a rebase merges one commit after the other.
    pub(crate) fn contested(&self) -> Vec<(Ticket, &'t Visit)> {
        let (standing, other) = (self.standing(), self.other());
        let is_known = |index: usize, entry: &Visit| {
            let before = self.base.and_then(|base| base.history.get(index));
            let known = |other: &Visit| {
                other == entry || entry.completion.is_some() && other.completion == entry.completion
            };
            before == Some(entry) || standing.history[self.common..].iter().any(known)
        };
        let mut contested = Vec::new();
        let mut visit = 0;
        for (index, entry) in other.history.iter().enumerate() {
            if index >= self.common && !is_known(index, entry) {
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

    /// Returns the agent that ended the visit of this ticket on the winning side.
    pub(crate) fn in_place_of(&self, ticket: &Ticket) -> Option<AgentId> {
        let history = &self.standing().history;
        let shared = ticket.visit.is_some_and(|visit| self.shares(visit));
        let ended = if shared { ending_entry(history, ticket) } else { None };
        ended.or_else(|| history.get(self.common)).and_then(|entry| entry.agent.clone())
    }
}

/// Returns the task with the entry decided again on top of it; `None` if its visit has ended, the rules refuse it, or its
/// signature does not fit.
fn decide_again(
    rules: &Rules,
    sides: &Sides<'_>,
    task: &Task,
    ticket: &Ticket,
    entry: &Visit,
) -> Option<Task> {
    let open = task.gate.as_ref()?;
    let is_open =
        ticket.visit == Some(open.visit) && sides.shares(open.visit) && open.current == entry.gate;
    let is_vote = matches!(entry.outcome, Ending::Completed(_)) && entry.branch.is_some();
    if !is_open || !is_vote {
        return None;
    }
    let after = apply_entry(rules, task, entry).ok()?;
    // Under other rules, the signed text is different.
    flaw(rules, &after, task.history.len()).is_none().then_some(after)
}

/// An act of the losing side that no longer counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dropped {
    /// A claim.
    Claim {
        /// The visit, or the branch of it.
        ticket: Ticket,
        agent: AgentId,
    },
    /// A person's hold.
    Hold { ticket: Ticket },
    /// An unblocking.
    Unblocking { ticket: Ticket },
}

/// Returns the dropped acts of the losing side on a visit that was open on both.
fn dropped(sides: &Sides<'_>, merged: &Task) -> Vec<Dropped> {
    let other = sides.other();
    let Some(open) = other.gate.as_ref().filter(|open| sides.shares(open.visit)) else {
        return Vec::new();
    };
    let before = sides.base();
    let mut dropped: Vec<Dropped> = claims(other)
        .filter(|(ticket, agent)| {
            !has_claim(Some(merged), ticket, agent) && !has_claim(before, ticket, agent)
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

/// Returns the claims on the open visit.
fn claims(task: &Task) -> impl Iterator<Item = (Ticket, &AgentId)> {
    let branches = task.gate.iter().flat_map(|open| &open.branches);
    let at = branches.filter_map(|at| Some((task.ticket_of(Some(&at.id)), at.agent.as_ref()?)));
    at.chain(task.routing.agent.iter().map(|agent| (task.ticket(), agent)))
}

fn has_claim(task: Option<&Task>, ticket: &Ticket, agent: &AgentId) -> bool {
    task.is_some_and(|task| claims(task).any(|claim| claim == (ticket.clone(), agent)))
}

/// The keys whose lists are sets.
const SETS: [&str; 3] = ["tags", "dependsOn", "links"];

/// Keys that were merged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Keys {
    /// The merged keys, with our value at conflicts.
    pub merged: Map,
    /// The conflicts.
    pub disputed: Vec<Disputed>,
}

/// A key that both sides changed differently.
#[derive(Debug, Clone, PartialEq)]
pub struct Disputed {
    /// The path of the key, outermost first.
    pub path: Vec<String>,
    /// Our value; `None` if it was removed.
    pub ours: Option<Value>,
    /// Their value; `None` if it was removed.
    pub theirs: Option<Value>,
}

/// Merges two mappings with their base. Our keys keep their order; their new keys follow.
pub fn merge_keys(base: &Map, ours: &Map, theirs: &Map) -> Keys {
    let mut keys = Keys::default();
    keys.merged = keys.inside(&[], base, ours, theirs);
    keys
}

impl Keys {
    fn inside(&mut self, path: &[String], base: &Map, ours: &Map, theirs: &Map) -> Map {
        let new = theirs.keys().filter(|key| !ours.contains_key(*key));
        let mut merged = Map::new();
        for key in ours.keys().chain(new) {
            let path = [path, std::slice::from_ref(key)].concat();
            let value = self.value(path, base.get(key), ours.get(key), theirs.get(key));
            merged.extend(value.map(|value| (key.clone(), value)));
        }
        merged
    }

    fn value(
        &mut self,
        path: Vec<String>,
        base: Option<&Value>,
        ours: Option<&Value>,
        theirs: Option<&Value>,
    ) -> Option<Value> {
        if ours == theirs || theirs == base {
            return ours.cloned();
        }
        if ours == base {
            return theirs.cloned();
        }
        let nothing = Map::new();
        if let (Some(Value::Object(ours)), Some(Value::Object(theirs))) = (ours, theirs) {
            let base = base.and_then(Value::as_object).unwrap_or(&nothing);
            return Some(self.inside(&path, base, ours, theirs).into());
        }
        if let [key] = &path[..]
            && SETS.contains(&key.as_str())
            && let (Some(base), Some(ours), Some(theirs)) =
                (set_items(base), set_items(ours), set_items(theirs))
        {
            return merge_sets(base, ours, theirs);
        }
        self.disputed.push(Disputed { path, ours: ours.cloned(), theirs: theirs.cloned() });
        ours.cloned()
    }
}

/// Returns the items of a set; empty if it is missing, `None` if it is not a list.
fn set_items(value: Option<&Value>) -> Option<&[Value]> {
    match value {
        None | Some(Value::Null) => Some(&[]),
        Some(Value::Array(items)) => Some(items),
        Some(_) => None,
    }
}

fn merge_sets(base: &[Value], ours: &[Value], theirs: &[Value]) -> Option<Value> {
    let kept = ours.iter().filter(|item| theirs.contains(item) || !base.contains(item));
    let new = theirs.iter().filter(|item| !ours.contains(item) && !base.contains(item));
    let merged: Vec<Value> = kept.chain(new).cloned().collect();
    (!merged.is_empty()).then(|| merged.into())
}
