//! The history of a task as two versions of its file write it.

use super::TaskFile;
use crate::files::config::decode::{point_in_time, text_of};
use crate::files::yaml::{Entry, Kind, Node};

/// The keys of an entry that are points in time: programs that write frontmatter anew have ways of their own to write those.
const TIMES: [&str; 2] = ["entered", "exited"];

impl TaskFile {
    /// Returns whether the history begins with that of an earlier version: entry by entry all that it says, what only people know
    /// included.
    pub fn continues(&self, before: &Self) -> bool {
        let (old, new) = (before.entries(), self.entries());
        old.len() <= new.len() && old.iter().zip(new).all(|(old, new)| says_the_same(old, new))
    }

    /// Returns whether the history is that of another version.
    pub fn has_history_of(&self, other: &Self) -> bool {
        self.entries().len() == other.entries().len() && self.continues(other)
    }

    fn entries(&self) -> &[Node<'static>] {
        self.field("gateHistory").map_or(&[], Node::items)
    }
}

fn says_the_same(old: &Node<'_>, new: &Node<'_>) -> bool {
    let (Kind::Mapping(entries), Kind::Mapping(others)) = (&old.kind, &new.kind) else {
        return old.agrees(new);
    };
    let same = |Entry { key, value }: &Entry<'_>| {
        new.get(&key.text).is_some_and(|other| {
            value.agrees(other) || TIMES.contains(&key.text.as_ref()) && is_same_time(value, other)
        })
    };
    entries.len() == others.len() && entries.iter().all(same)
}

fn is_same_time(old: &Node<'_>, new: &Node<'_>) -> bool {
    let time = |node: &Node<'_>| text_of(node).and_then(|text| point_in_time(&text));
    time(old).zip(time(new)).is_some_and(|(old, new)| old == new)
}
