//! The index's `TREE` extension: which folders of the index are known to be which tree. Pure.
//!
//! A folder's tree may be carried forward only if the index held exactly the parent commit's tree there; if a person
//! staged something in it, its node says so (or holds another tree, after `git write-tree`) and becomes unknown.

use super::entries::{FolderChange, PathChange};
use crate::git::id::ObjectId;

/// A folder; `known` is its tree and how many entries of the index lie in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    name: Vec<u8>,
    known: Option<(u64, ObjectId)>,
    children: Vec<Node>,
}

/// Returns the extension after a change, or `None` if it cannot be read and is better left out.
pub(crate) fn patch(
    body: &[u8],
    changes: &[PathChange],
    folders: &[FolderChange],
) -> Option<Vec<u8>> {
    let mut rest = body;
    let mut root = read(&mut rest)?;
    if !rest.is_empty() {
        return None;
    }
    // Parents come before what lies in them, so a parent that stays known vouches for new children.
    let mut folders: Vec<_> = folders.iter().collect();
    folders.sort_by_key(|folder| (depth(&folder.path), &folder.path));
    for folder in folders {
        update(&mut root, folder, changes);
    }
    let mut written = Vec::with_capacity(body.len() + 128);
    write(&root, &mut written);
    Some(written)
}

fn depth(path: &str) -> usize {
    path.split('/').filter(|name| !name.is_empty()).count()
}

fn update(root: &mut Node, folder: &FolderChange, changes: &[PathChange]) {
    let names: Vec<_> =
        folder.path.split('/').filter(|name| !name.is_empty()).map(str::as_bytes).collect();
    let Some((last, parents)) = names.split_last() else {
        carry(root, folder, changes);
        return;
    };
    let mut parent = root;
    for name in parents {
        match parent.children.iter_mut().find(|child| child.name == *name) {
            Some(child) => parent = child,
            None => return,
        }
    }
    match parent.children.iter().position(|child| child.name == *last) {
        Some(at) if folder.after.is_none() && parent.known.is_some() => {
            parent.children.remove(at);
        }
        Some(at) => carry(&mut parent.children[at], folder, changes),
        None if parent.known.is_some() && folder.before.is_none() => {
            if let Some(after) = folder.after {
                let known = Some((added(folder, changes).cast_unsigned(), after));
                let name = last.to_vec();
                let at = parent
                    .children
                    .partition_point(|child| (child.name.len(), &child.name) < (name.len(), &name));
                parent.children.insert(at, Node { name, known, children: Vec::new() });
            }
        }
        None => parent.known = None,
    }
}

/// Moves a folder from the tree it was to the tree it becomes, or forgets it.
fn carry(node: &mut Node, folder: &FolderChange, changes: &[PathChange]) {
    node.known = match (node.known, folder.before, folder.after) {
        (Some((count, id)), Some(before), Some(after)) if id == before => {
            count.checked_add_signed(added(folder, changes)).map(|count| (count, after))
        }
        _ => None,
    };
}

/// How many more entries lie in a folder after the change.
fn added(folder: &FolderChange, changes: &[PathChange]) -> i64 {
    let inside = |path: &str| {
        folder.path.is_empty()
            || path.strip_prefix(&folder.path).is_some_and(|rest| rest.starts_with('/'))
    };
    changes
        .iter()
        .filter(|change| inside(&change.path))
        .map(|change| i64::from(change.after.is_some()) - i64::from(change.before.is_some()))
        .sum()
}

/// Reads a node and what lies below it: name, NUL, entries, space, folders, newline, and the tree if entries >= 0.
fn read(rest: &mut &[u8]) -> Option<Node> {
    let name = take_until(rest, 0)?.to_vec();
    let entries: i64 = str::from_utf8(take_until(rest, b' ')?).ok()?.parse().ok()?;
    let folders: usize = str::from_utf8(take_until(rest, b'\n')?).ok()?.parse().ok()?;
    let known = match u64::try_from(entries) {
        Ok(entries) => {
            let (id, after) = rest.split_at_checked(20)?;
            *rest = after;
            Some((entries, ObjectId::from_raw(id)?))
        }
        Err(_) => None,
    };
    let children = (0..folders).map(|_| read(rest)).collect::<Option<_>>()?;
    Some(Node { name, known, children })
}

fn take_until<'a>(rest: &mut &'a [u8], end: u8) -> Option<&'a [u8]> {
    let at = rest.iter().position(|byte| *byte == end)?;
    let taken = &rest[..at];
    *rest = &rest[at + 1..];
    Some(taken)
}

fn write(node: &Node, body: &mut Vec<u8>) {
    body.extend(&node.name);
    body.push(0);
    match node.known {
        Some((entries, id)) => {
            body.extend(format!("{entries} {}\n", node.children.len()).bytes());
            body.extend(id.as_bytes());
        }
        None => body.extend(format!("-1 {}\n", node.children.len()).bytes()),
    }
    for child in &node.children {
        write(child, body);
    }
}
