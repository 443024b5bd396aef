//! Trees as raw bytes: looking up paths, listing, and splicing changes into copies. Never reads the index or the worktree: a tree
//! that aof writes is the parent's tree except for the changed paths.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use memchr::memchr;

use super::loose::{Object, ObjectKind};
use super::reader::ObjectReader;
use crate::error::GitError;
use crate::id::ObjectId;

pub(crate) const MODE_FILE: u32 = 0o100_644;
pub(crate) const MODE_EXECUTABLE: u32 = 0o100_755;
pub(crate) const MODE_TREE: u32 = 0o040_000;
pub(crate) const MODE_SUBMODULE: u32 = 0o160_000;

/// The mode and the object id of a tree entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub mode: u32,
    pub id: ObjectId,
}

/// A path to set in a tree, or to remove if `blob` is `None`.
#[derive(Debug, Clone)]
pub(crate) struct TreeEdit<'a> {
    pub path: &'a str,
    pub blob: Option<ObjectId>,
    /// True if a new file is executable.
    pub is_program: bool,
}

/// The trees of a repository, and those that are about to be written.
pub(crate) struct Trees<'r> {
    reader: ObjectReader<'r>,
    fresh: HashMap<ObjectId, Arc<[u8]>>,
}

impl<'r> Trees<'r> {
    pub(crate) fn new(reader: ObjectReader<'r>) -> Self {
        Self { reader, fresh: HashMap::new() }
    }

    fn load(&self, id: ObjectId) -> Result<Arc<[u8]>, GitError> {
        match self.fresh.get(&id) {
            Some(tree) => Ok(Arc::clone(tree)),
            None => self.reader.read(ObjectKind::Tree, id),
        }
    }

    /// Finds the entry at a path below a tree.
    pub(crate) fn lookup(
        &self,
        root: ObjectId,
        path: impl AsRef<[u8]>,
    ) -> Result<Option<Leaf>, GitError> {
        let mut at = Leaf { mode: MODE_TREE, id: root };
        for name in path.as_ref().split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            if at.mode != MODE_TREE {
                return Ok(None);
            }
            let tree = self.load(at.id)?;
            let found = entries(&tree).find(|entry| entry.name == name).map(|entry| entry.leaf());
            match found {
                Some(leaf) => at = leaf,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// Returns the entries of a folder below a tree, by name; none if there is no such folder.
    pub(crate) fn names(
        &self,
        root: ObjectId,
        folder: &str,
    ) -> Result<HashMap<Box<[u8]>, Leaf>, GitError> {
        let Some(tree) = self.folder(Some(root), folder)? else { return Ok(HashMap::new()) };
        Ok(entries(&self.load(tree)?).map(|entry| (entry.name.into(), entry.leaf())).collect())
    }

    /// Finds the folder at a path; `""` is the tree itself.
    pub(crate) fn folder(
        &self,
        root: Option<ObjectId>,
        path: &str,
    ) -> Result<Option<ObjectId>, GitError> {
        let Some(root) = root else { return Ok(None) };
        Ok(self.lookup(root, path)?.filter(|leaf| leaf.mode == MODE_TREE).map(|leaf| leaf.id))
    }

    /// Finds the file at a path; links, submodules and folders are not files.
    pub(crate) fn file(
        &self,
        root: Option<ObjectId>,
        path: &str,
    ) -> Result<Option<Leaf>, GitError> {
        let Some(root) = root else { return Ok(None) };
        Ok(self.lookup(root, path)?.filter(|leaf| matches!(leaf.mode, MODE_FILE | MODE_EXECUTABLE)))
    }

    /// Lists every file below a tree, depth first, as `found(path, id)`. Names that are not UTF-8 are skipped.
    pub(crate) fn walk(
        &self,
        tree: ObjectId,
        below: &str,
        found: &mut impl FnMut(String, ObjectId),
    ) -> Result<(), GitError> {
        let raw = self.load(tree)?;
        for entry in entries(&raw) {
            let Ok(name) = str::from_utf8(entry.name) else {
                continue;
            };
            let path = text(path_of(below.as_bytes(), name.as_bytes())?);
            match entry.mode {
                MODE_TREE => self.walk(entry.id, &path, found)?,
                MODE_FILE | MODE_EXECUTABLE => found(path, entry.id),
                _ => {}
            }
        }
        Ok(())
    }

    /// Compares two trees; calls `found(path, before, after)` for each difference that is not a folder. Names need not be UTF-8.
    pub(crate) fn compare(
        &self,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
        below: &[u8],
        found: &mut impl FnMut(Vec<u8>, Option<Leaf>, Option<Leaf>),
    ) -> Result<(), GitError> {
        let load =
            |tree: Option<ObjectId>| tree.map_or_else(|| Ok(Arc::from([])), |tree| self.load(tree));
        let (before, after) = (load(before)?, load(after)?);
        // Skip equal bytes at both ends: a commit changes few names of a folder, which may have thousands.
        let (start, end) = (same_entries(&before, &after), same_end(&before, &after));
        let (mut old, mut new) =
            (entries_from(&before, start).peekable(), entries_from(&after, start).peekable());
        loop {
            let left = |raw: &[u8], next: Option<&TreeEntry<'_>>| {
                next.map_or(0, |entry| raw.len() - entry.start)
            };
            let rest = left(&before, old.peek());
            if rest == left(&after, new.peek()) && rest <= end {
                return Ok(());
            }
            let order = match (old.peek(), new.peek()) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => {
                    sort_key(a.name, a.is_tree()).cmp(sort_key(b.name, b.is_tree()))
                }
            };
            let gone = if order.is_le() { old.next() } else { None };
            let come = if order.is_ge() { new.next() } else { None };
            let (gone_leaf, come_leaf) =
                (gone.as_ref().map(TreeEntry::leaf), come.as_ref().map(TreeEntry::leaf));
            let Some(entry) = gone.or(come).filter(|_| gone_leaf != come_leaf) else {
                continue;
            };
            let path = path_of(below, entry.name)?;
            if entry.is_tree() {
                self.compare(
                    gone_leaf.map(|leaf| leaf.id),
                    come_leaf.map(|leaf| leaf.id),
                    &path,
                    found,
                )?;
            } else {
                found(path, gone_leaf, come_leaf);
            }
        }
    }

    /// Applies edits below a tree and returns the new root; every new tree is appended to `objects`.
    pub(crate) fn splice(
        &mut self,
        root: Option<ObjectId>,
        edits: &[TreeEdit<'_>],
        objects: &mut Vec<Object>,
    ) -> Result<ObjectId, GitError> {
        let edits: Vec<_> = edits.iter().map(|edit| (edit.path, edit)).collect();
        match self.splice_folder(root, &edits, objects)? {
            Some(root) => Ok(root),
            None => Ok(self.add(Vec::new(), objects)),
        }
    }

    /// Applies edits, each with the part of its path below this folder; `None` if nothing is left in it.
    fn splice_folder(
        &mut self,
        folder: Option<ObjectId>,
        edits: &[(&str, &TreeEdit<'_>)],
        objects: &mut Vec<Object>,
    ) -> Result<Option<ObjectId>, GitError> {
        let mut raw = match folder {
            Some(id) => self.load(id)?.to_vec(),
            None => Vec::new(),
        };
        let mut rest = edits.to_vec();
        rest.sort_by_key(|(path, _)| path.split_once('/').map_or(*path, |(name, _)| name));
        for group in rest.chunk_by(|(a, _), (b, _)| first(a) == first(b)) {
            let (path, edit) = group[0];
            let name = first(path);
            let refuse = |reason| Err(GitError::BadPath { path: edit.path.to_owned(), reason });
            let old = entries(&raw)
                .find(|entry| entry.name == name.as_bytes())
                .map(|entry| (entry.start..entry.end, entry.leaf()));
            let below: Vec<_> = group
                .iter()
                .filter_map(|(path, edit)| Some((path.split_once('/')?.1, *edit)))
                .collect();
            let new = if below.is_empty() {
                match old {
                    Some((_, Leaf { mode: MODE_TREE, .. })) => {
                        return refuse("the branch has a folder of that name");
                    }
                    Some((_, Leaf { mode: MODE_FILE | MODE_EXECUTABLE, .. })) | None => {}
                    Some(_) => return refuse("the branch has a link or a submodule of that name"),
                }
                let new = if edit.is_program { MODE_EXECUTABLE } else { MODE_FILE };
                let mode = old.as_ref().map_or(new, |(_, leaf)| leaf.mode);
                edit.blob.map(|id| Leaf { mode, id })
            } else if below.len() < group.len() {
                return refuse("the same change has a file and a folder of that name");
            } else {
                let folder = match &old {
                    Some((_, Leaf { mode: MODE_TREE, id })) => Some(*id),
                    None => None,
                    Some(_) => return refuse("a part of the path is not a folder on the branch"),
                };
                self.splice_folder(folder, &below, objects)?.map(|id| Leaf { mode: MODE_TREE, id })
            };
            replace(&mut raw, old.map(|(range, _)| range), name, new);
        }
        Ok((!raw.is_empty()).then(|| self.add(raw, objects)))
    }

    fn add(&mut self, raw: Vec<u8>, objects: &mut Vec<Object>) -> ObjectId {
        let object = Object::new(ObjectKind::Tree, raw);
        let id = object.id;
        if self.fresh.insert(id, Arc::from(object.bytes.as_slice())).is_none() {
            objects.push(object);
        }
        id
    }
}

/// Returns the path of a name in a folder. Fails for a name with a slash, which would point elsewhere.
fn path_of(below: &[u8], name: &[u8]) -> Result<Vec<u8>, GitError> {
    let path = if below.is_empty() { name.to_owned() } else { [below, b"/", name].concat() };
    if name.contains(&b'/') { Err(GitError::Forbidden { path: text(path) }) } else { Ok(path) }
}

/// Returns a path as text; invalid UTF-8 is replaced.
pub(crate) fn text(path: Vec<u8>) -> String {
    String::from_utf8(path)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn first(path: &str) -> &str {
    path.split_once('/').map_or(path, |(name, _)| name)
}

/// The number of bytes of two trees that are compared at once.
const SPAN: usize = 256;

/// One entry of a raw tree, with its byte range.
pub(crate) struct TreeEntry<'a> {
    pub start: usize,
    pub end: usize,
    pub mode: u32,
    pub name: &'a [u8],
    pub id: ObjectId,
}

impl TreeEntry<'_> {
    /// Returns whether the entry is a folder.
    pub(crate) const fn is_tree(&self) -> bool {
        self.mode == MODE_TREE
    }

    /// Returns the entry's mode and id.
    pub(crate) fn leaf(&self) -> Leaf {
        Leaf { mode: self.mode, id: self.id }
    }
}

/// Replaces, inserts in git's order, or removes an entry.
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

/// Returns the bytes by which git sorts a name: a folder's as if it ended in a slash.
pub(crate) fn sort_key(name: &[u8], is_tree: bool) -> impl Iterator<Item = u8> + '_ {
    name.iter().copied().chain(is_tree.then_some(b'/'))
}

/// Returns the length of the common prefix of two trees, in whole entries.
pub(crate) fn same_entries(one: &[u8], other: &[u8]) -> usize {
    let pairs = one.chunks(SPAN).zip(other.chunks(SPAN));
    let spans = pairs.take_while(|(a, b)| a == b).map(|(span, _)| span.len()).sum::<usize>();
    let mut end = 0;
    while let Some(next) = entry_end(one, end).filter(|next| *next <= spans) {
        end = next;
    }
    end
}

/// Returns a lower bound for the length of the common suffix of two trees.
pub(crate) fn same_end(one: &[u8], other: &[u8]) -> usize {
    let pairs = one.rchunks(SPAN).zip(other.rchunks(SPAN));
    pairs.take_while(|(a, b)| a == b).map(|(span, _)| span.len()).sum()
}

/// Returns the end of the entry that begins there: its mode and its name have no NUL.
fn entry_end(raw: &[u8], start: usize) -> Option<usize> {
    let end = start + memchr(0, raw.get(start..)?)? + 21;
    (end <= raw.len()).then_some(end)
}

/// Reads the entries of a raw tree, up to the first malformed one.
pub(crate) fn entries(raw: &[u8]) -> impl Iterator<Item = TreeEntry<'_>> {
    entries_from(raw, 0)
}

/// Reads the entries from the start of one.
pub(crate) fn entries_from(raw: &[u8], mut start: usize) -> impl Iterator<Item = TreeEntry<'_>> {
    iter::from_fn(move || {
        let rest = raw.get(start..)?;
        let space = rest.iter().take(8).position(|byte| *byte == b' ')?;
        let mode = rest[..space].iter().fold(0, |mode, digit| mode << 3 | u32::from(digit & 7));
        let end = entry_end(raw, start)?;
        let name = raw.get(start + space + 1..end - 21)?;
        let entry =
            TreeEntry { start, end, mode, name, id: ObjectId::from_raw(&raw[end - 20..end])? };
        start = end;
        Some(entry)
    })
}
