//! What is known of the paths of an interrupted sync: what HEAD has, what the index has, and what stands in the worktree (`standing`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::ops::Bound;

use super::super::below::{Below, Seen};
use super::super::bring::Changes;
use super::super::error::AuditError;
use super::super::id::CommitId;
use super::super::repository::Repository;
use super::super::spawn;
use super::super::tree::{Leaf, MODE_TREE};
use super::standing::Asked;
use super::table::{Entry, Facts};

/// A path that was to change.
pub(super) struct Known {
    pub path: String,
    pub before: Option<Leaf>,
    pub after: Option<Leaf>,
    pub facts: Facts,
    /// How the file or link there looked when it was read.
    pub seen: Option<Seen>,
    /// Whether a sparse checkout leaves the path out.
    pub is_left_out: bool,
}

/// Both sides of a path.
pub(super) type Sides = (Option<Leaf>, Option<Leaf>);

/// What the index has at a path.
#[derive(Clone, Copy)]
pub(super) struct Staged {
    /// Nothing where it has several versions, or where an entry here would take out others that somebody has staged.
    leaf: Option<Leaf>,
    pub is_left_out: bool,
}

impl Repository {
    /// Looks at all of them.
    pub(super) fn known(
        &self,
        changes: &Changes,
        head: Option<CommitId>,
        asked: &mut Asked,
    ) -> Result<Vec<Known>, AuditError> {
        let below = Below::open(self.worktree_root())?;
        let staged = self.staged_at(changes)?;
        let standing = self.standing(&below, changes, &staged, asked)?;
        let (trees, head) = (self.trees(), head.map(|commit| self.root_tree(commit)).transpose()?);
        // A folder may have thousands of names, all of which change.
        let mut folders: HashMap<&str, HashMap<Box<[u8]>, Leaf>> = HashMap::new();
        let mut known = Vec::new();
        for ((path, sides), (file, seen)) in changes.iter().zip(standing) {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let in_head = match (head, folders.get(folder)) {
                (None, _) => None,
                (Some(_), Some(names)) => names.get(name.as_bytes()),
                (Some(head), None) => folders.entry(folder).or_insert(trees.names(head, folder)?).get(name.as_bytes()),
            };
            let entry = staged.get(path.as_str());
            let (before, after) = *sides;
            known.push(Known {
                path: path.clone(),
                before,
                after,
                facts: Facts {
                    head: of(*sides, in_head.copied().filter(|leaf| leaf.mode != MODE_TREE)),
                    entry: entry_of(*sides, entry),
                    file,
                },
                seen,
                is_left_out: entry.is_some_and(|entry| entry.is_left_out),
            });
        }
        Ok(known)
    }

    /// Reads the index once, as a whole: git holds each of its entries against each path that it is asked for.
    fn staged_at<'c>(&self, changes: &'c Changes) -> Result<BTreeMap<&'c str, Staged>, AuditError> {
        const THEIRS: Staged = Staged { leaf: None, is_left_out: false };
        let mut git = spawn::git(self);
        git.args(["ls-files", "-t", "--stage", "-z", "--full-name"]);
        let output = spawn::run_git(git, &[])?;
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

pub(super) fn of(sides: Sides, leaf: Option<Leaf>) -> Entry {
    if leaf == sides.1 {
        Entry::To
    } else if leaf == sides.0 {
        Entry::From
    } else {
        Entry::Other
    }
}

pub(super) fn entry_of(sides: Sides, staged: Option<&Staged>) -> Entry {
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
pub(super) fn entry_in(line: &[u8]) -> Option<(&[u8], Staged)> {
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
pub(super) fn info(lines: &mut String, path: &str, leaf: Option<Leaf>) {
    const NOTHING: &str = "0000000000000000000000000000000000000000";
    let _ = match leaf {
        Some(leaf) => write!(lines, "{:o} {}\t{path}\0", leaf.mode, leaf.id),
        None => write!(lines, "0 {NOTHING}\t{path}\0"),
    };
}
