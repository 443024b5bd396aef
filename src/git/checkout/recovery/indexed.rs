//! What the index has at the paths of an interrupted sync, and the lines in which git is told what it is to have there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Bound;

use super::table::Entry;
use crate::git::command;
use crate::git::error::AuditError;
use crate::git::log::path_diff::Changes;
use crate::git::objects::tree::Leaf;
use crate::git::repository::repository::Repository;

/// Both sides of a path.
pub(crate) type Sides = (Option<Leaf>, Option<Leaf>);

/// What the index has at a path.
#[derive(Clone, Copy)]
pub(crate) struct Staged {
    /// Nothing where it has several versions, or where an entry here would take out others that somebody has staged.
    leaf: Option<Leaf>,
    pub is_left_out: bool,
}

impl Repository {
    /// Reads the index once, as a whole: git holds each of its entries against each path that it is asked for.
    pub(crate) fn staged_at<'c>(
        &self,
        changes: &'c Changes,
    ) -> Result<BTreeMap<&'c str, Staged>, AuditError> {
        const THEIRS: Staged = Staged { leaf: None, is_left_out: false };
        let mut git = command::git(self);
        git.args(["ls-files", "-t", "--stage", "-z", "--full-name"]);
        let output = command::run_git(git, &[])?;
        let (mut found, mut around) = (BTreeMap::new(), BTreeSet::new());
        for (path, staged) in output.split(|byte| *byte == 0).filter_map(line) {
            let change = changes.get_key_value(path);
            if change.is_none_or(|(_, sides)| entry_of(*sides, Some(&staged)) == Entry::Other) {
                around.extend(around_of(path, changes));
            }
            if let Some((path, _)) = change {
                found.insert(path.as_str(), staged);
            }
        }
        found.extend(around.into_iter().map(|path| (path, THEIRS)));
        Ok(found)
    }
}

/// Returns the paths that are to change and cannot have an entry as long as this path has one: the folders above it, and what is below.
fn around_of<'c>(path: &str, changes: &'c Changes) -> Vec<&'c str> {
    let above = path.match_indices('/').filter_map(|(at, _)| changes.get_key_value(&path[..at]));
    let inside = format!("{path}/");
    let from = changes.range::<str, _>((Bound::Excluded(inside.as_str()), Bound::Unbounded));
    let below = from.take_while(|(other, _)| other.starts_with(&inside));
    above.chain(below).map(|(path, _)| path.as_str()).collect()
}

pub(crate) fn of(sides: Sides, leaf: Option<Leaf>) -> Entry {
    if leaf == sides.1 {
        Entry::To
    } else if leaf == sides.0 {
        Entry::From
    } else {
        Entry::Other
    }
}

pub(crate) fn entry_of(sides: Sides, staged: Option<&Staged>) -> Entry {
    match staged {
        None => of(sides, None),
        Some(Staged { leaf: None, .. }) => Entry::Other,
        Some(staged) => of(sides, staged.leaf),
    }
}

fn line(line: &[u8]) -> Option<(&str, Staged)> {
    let (path, staged) = entry_in(line)?;
    Some((str::from_utf8(path).ok()?, staged))
}

/// Reads `TAG MODE ID STAGE<tab>PATH`.
pub(crate) fn entry_in(line: &[u8]) -> Option<(&[u8], Staged)> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let (fields, path) = (str::from_utf8(&line[..tab]).ok()?, &line[tab + 1..]);
    let mut fields = fields.split(' ');
    let is_left_out = fields.next()?.eq_ignore_ascii_case("S");
    let mode = u32::from_str_radix(fields.next()?, 8).ok()?;
    let id = fields.next()?.parse().ok()?;
    let leaf = (fields.next()? == "0").then_some(Leaf { mode, id });
    Some((path, Staged { leaf, is_left_out }))
}

/// Returns a line for `git update-index --index-info` that gives a path what a commit has there.
pub(crate) fn info(lines: &mut String, path: &str, leaf: Option<Leaf>) {
    const NOTHING: &str = "0000000000000000000000000000000000000000";
    let _ = match leaf {
        Some(leaf) => write!(lines, "{:o} {}\t{path}\0", leaf.mode, leaf.id),
        None => write!(lines, "0 {NOTHING}\t{path}\0"),
    };
}
