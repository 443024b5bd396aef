//! What is known of the paths of an interrupted sync: what HEAD has, what the index has, and what stands in the worktree (`standing`).

use std::collections::HashMap;

use super::indexed::{entry_of, of};
use super::standing::Asked;
use super::table::Facts;
use crate::git::checkout::worktree_folder::folder::{Below, Seen};
use crate::git::error::AuditError;
use crate::git::log::path_diff::Changes;
use crate::git::objects::id::CommitId;
use crate::git::objects::tree::{Leaf, MODE_TREE};
use crate::git::repository::repository::Repository;

/// A path that was to change.
pub(crate) struct Known {
    pub path: String,
    pub before: Option<Leaf>,
    pub after: Option<Leaf>,
    pub facts: Facts,
    /// How the file or link there looked when it was read.
    pub seen: Option<Seen>,
    /// Whether a sparse checkout leaves the path out.
    pub is_left_out: bool,
}

impl Repository {
    /// Looks at all of them.
    pub(crate) fn known(
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
                (Some(head), None) => {
                    folders.entry(folder).or_insert(trees.names(head, folder)?).get(name.as_bytes())
                }
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
}
