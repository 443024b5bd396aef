//! The entries of one raw tree: read, compared, put in and taken out, in git's order.

use std::iter;
use std::ops::Range;

use super::{Leaf, MODE_TREE};
use crate::git::id::ObjectId;

/// So many bytes of two trees are compared at once.
const SPAN: usize = 256;

/// One entry of a raw tree, with the bytes it takes up.
pub(crate) struct Entry<'a> {
    pub start: usize,
    pub end: usize,
    pub mode: u32,
    pub name: &'a [u8],
    pub id: ObjectId,
}

impl Entry<'_> {
    /// Returns whether it is a folder.
    pub(crate) const fn is_tree(&self) -> bool {
        self.mode == MODE_TREE
    }

    /// Returns what the name stands for.
    pub(crate) fn leaf(&self) -> Leaf {
        Leaf { mode: self.mode, id: self.id }
    }
}

/// Puts an entry in the place of another, or where git's order wants it, or takes it out.
pub(crate) fn replace(raw: &mut Vec<u8>, old: Option<Range<usize>>, name: &str, new: Option<Leaf>) {
    let bytes = new.map_or_else(Vec::new, |leaf| {
        let mut bytes = format!("{:o} {name}\0", leaf.mode).into_bytes();
        bytes.extend(leaf.id.as_bytes());
        bytes
    });
    let range = old.unwrap_or_else(|| {
        let is_tree = new.is_some_and(|leaf| leaf.mode == MODE_TREE);
        let place = entries(raw).find(|entry| {
            sort_key(entry.name, entry.is_tree()).gt(sort_key(name.as_bytes(), is_tree))
        });
        let at = place.map_or(raw.len(), |entry| entry.start);
        at..at
    });
    raw.splice(range, bytes);
}

/// Git sorts a folder as if its name ended in a slash.
pub(crate) fn sort_key(name: &[u8], is_tree: bool) -> impl Iterator<Item = u8> + '_ {
    name.iter().copied().chain(is_tree.then_some(b'/'))
}

/// Returns how many bytes of whole entries two trees begin with alike.
pub(crate) fn same_entries(one: &[u8], other: &[u8]) -> usize {
    let pairs = one.chunks(SPAN).zip(other.chunks(SPAN));
    let spans = pairs.take_while(|(a, b)| a == b).map(|(span, _)| span.len()).sum::<usize>();
    entries(one).map(|entry| entry.end).take_while(|end| *end <= spans).last().unwrap_or(0)
}

/// Returns how many bytes two trees end with alike, at least.
pub(crate) fn same_end(one: &[u8], other: &[u8]) -> usize {
    let pairs = one.rchunks(SPAN).zip(other.rchunks(SPAN));
    pairs.take_while(|(a, b)| a == b).map(|(span, _)| span.len()).sum()
}

/// Reads the entries of a raw tree, up to the first malformed one.
pub(crate) fn entries(raw: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    entries_from(raw, 0)
}

/// Reads the entries from where one begins.
pub(crate) fn entries_from(raw: &[u8], mut start: usize) -> impl Iterator<Item = Entry<'_>> {
    iter::from_fn(move || {
        let rest = raw.get(start..)?;
        let space = rest.iter().take(8).position(|byte| *byte == b' ')?;
        let mode = rest[..space].iter().fold(0, |mode, digit| mode << 3 | u32::from(digit & 7));
        let nul = space + 1 + rest[space + 1..].iter().position(|byte| *byte == 0)?;
        let id = ObjectId::from_raw(rest.get(nul + 1..nul + 21)?)?;
        let entry = Entry { start, end: start + nul + 21, mode, name: &rest[space + 1..nul], id };
        start = entry.end;
        Some(entry)
    })
}
