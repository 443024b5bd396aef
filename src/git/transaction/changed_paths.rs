//! The paths that a commit changes: which there may be, what stood there before and after, and the folders above them.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::error::GitError;
use crate::git::id::ObjectId;
use crate::git::index::entries::{FolderChange, PathChange};
use crate::git::objects::tree::Trees;

/// The paths in the order of the index.
pub(crate) fn paths(changes: &[PathChange]) -> Vec<&str> {
    changes.iter().map(|change| change.path.as_str()).collect()
}

/// Compares two trees at these paths; sorted by path.
pub(crate) fn path_changes(
    trees: &Trees<'_>,
    before: Option<ObjectId>,
    after: Option<ObjectId>,
    passed: BTreeMap<String, Vec<ObjectId>>,
) -> Result<Vec<PathChange>, GitError> {
    passed
        .into_iter()
        .map(|(path, passed)| {
            Ok(PathChange {
                before: trees.file(before, &path)?,
                after: trees.file(after, &path)?,
                path,
                passed,
            })
        })
        .collect()
}

/// Compares two trees at every folder on the way to these changes.
pub(crate) fn folder_changes(
    trees: &Trees<'_>,
    before: Option<ObjectId>,
    after: Option<ObjectId>,
    changes: &[PathChange],
) -> Result<Vec<FolderChange>, GitError> {
    let folders: BTreeSet<&str> =
        changes.iter().flat_map(|change| folders_above(&change.path)).collect();
    folders
        .into_iter()
        .map(|path| {
            Ok(FolderChange {
                path: path.to_owned(),
                before: trees.folder(before, path)?,
                after: trees.folder(after, path)?,
            })
        })
        .collect()
}

/// Every folder that a path lies in, and `""` for the root.
pub(crate) fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at]).chain([""])
}

/// Tells whether a commit may have a file there.
pub(crate) fn can_be_committed(path: &str) -> bool {
    check_path(path).is_ok()
}

/// Refuses paths that git would not check out again, or that mean another place.
pub(crate) fn check_path(path: &str) -> Result<(), GitError> {
    let refuse = |reason| Err(GitError::BadPath { path: path.to_owned(), reason });
    for name in path.split('/') {
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            "" => return refuse("a part of the path is empty"),
            "." | ".." => return refuse("`.` and `..` are no names"),
            ".git" | "git~1" => return refuse("that name is git's own"),
            _ if name.chars().any(char::is_control) => {
                return refuse("it has a control character in it");
            }
            // Some file systems drop these, so that `.g<U+200C>it` is `.git` to them.
            _ if name.chars().any(is_ignorable) => {
                return refuse("it has an invisible character in it");
            }
            _ if name.contains('\\') => return refuse("it has a backslash in it"),
            _ => {}
        }
    }
    Ok(())
}

fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
