//! Two states of one task that grew apart, made one again. Pure, like everything here: whoever merges the same states by the same
//! rules gets the same task, on any machine.
//!
//! What is the engine's is taken whole from one side, which stands. A visit ends once: of two entries that end the same one, what
//! stands counts, and the other is superseded with all that followed it. Only what was said at a branch of a fork that is still
//! open where the other side stands is decided again on top of it. What is people's is merged key by key, by `keys`.

pub(crate) mod carry;
pub(crate) mod dropped;
pub(crate) mod keys;
pub(crate) mod sides;

pub(crate) use dropped::Dropped;
pub(crate) use keys::{Keys, merge_keys};
pub(crate) use sides::{Apart, Side, apart};

pub(crate) use super::replay::explain::with_people_of;
use super::workflow::rules::Rules;
use crate::domain::{AgentId, Task, Ticket, Visit};

/// A task that was merged.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Merged {
    pub task: Task,
    /// Entries of the other side that count no more, oldest first.
    pub superseded: Vec<Superseded>,
    /// How many entries of the other side were decided again: they are the last of the history.
    pub carried: usize,
    /// What the other side had said without an entry, and is said no more.
    pub dropped: Vec<Dropped>,
}

/// An entry that counts no more: its visit had ended otherwise.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Superseded {
    /// The visit that it ended, by the count of its own side.
    pub ticket: Ticket,
    pub visit: Visit,
    /// Who ended the visit that stands in its place, if it was anybody in org.yaml.
    pub by: Option<AgentId>,
}

/// Merges the two. What people say of the task is taken from `people`: conditions see it.
pub(crate) fn merge(rules: &Rules, apart: &Apart<'_>, people: &Task) -> Merged {
    let standing = apart.standing();
    let mut task =
        if sides::is_new(standing) { people.clone() } else { with_people_of(standing, people) };
    let (mut superseded, mut carried) = (Vec::new(), 0);
    for (ticket, entry) in apart.contested() {
        match carry::again(rules, apart, &task, &ticket, entry) {
            Some(next) => {
                task = next;
                carried += 1;
            }
            None => superseded.push(Superseded {
                by: apart.in_place_of(&ticket),
                ticket,
                visit: entry.clone(),
            }),
        }
    }
    let dropped = dropped::of(apart, &task);
    Merged { task, superseded, carried, dropped }
}
