//! Commits that keep a part of their parent's tree, at its top: the project without the code, or the code without the project.

use jiff::Timestamp;

use crate::error::{During, GitError};
use crate::id::{CommitId, ObjectId};
use crate::objects::commit::encode;
use crate::objects::loose::{Object, ObjectKind};
use crate::objects::tree::{Leaf, MODE_FILE, MODE_TREE};
use crate::repository::handle::Repository;

/// A commit to be made.
pub struct PartDraft<'d> {
    pub parent: CommitId,
    /// Returns whether the file or folder of that name stays.
    pub keeps: &'d dyn Fn(&str) -> bool,
    /// The files at the top with new content.
    pub files: &'d [(&'d str, Vec<u8>)],
    pub message: &'d str,
    pub at: Timestamp,
}

impl Repository {
    /// Writes the commit durably; it is on no branch yet. Its author and committer are git's user.
    pub fn write_part(&self, draft: &PartDraft<'_>) -> Result<CommitId, GitError> {
        let mut names = self.trees().names(self.root_tree(draft.parent)?, "")?;
        names.retain(|name, _| str::from_utf8(name).map_or((draft.keeps)(""), draft.keeps));
        let mut objects = Vec::new();
        for (name, bytes) in draft.files {
            let blob = Object::new(ObjectKind::Blob, bytes.clone());
            names.insert(name.as_bytes().into(), Leaf { mode: MODE_FILE, id: blob.id });
            objects.push(blob);
        }
        let mut entries: Vec<(Vec<u8>, Leaf)> =
            names.into_iter().map(|(name, leaf)| (name.into(), leaf)).collect();
        // Git sorts a folder as if its name ended with a slash.
        entries.sort_by_cached_key(|(name, leaf)| {
            let end: &[u8] = if leaf.mode == MODE_TREE { b"/" } else { b"" };
            [name, end].concat()
        });
        let mut tree = Vec::new();
        for (name, Leaf { mode, id }) in entries {
            tree.extend_from_slice(format!("{mode:o} ").as_bytes());
            tree.extend_from_slice(&name);
            tree.push(0);
            tree.extend_from_slice(id.as_bytes());
        }
        let tree = Object::new(ObjectKind::Tree, tree);
        let (author, committer) = (self.author_identity()?, self.identity()?);
        let stamps = [(&author, draft.at), (&committer, draft.at)];
        let unsigned = encode(tree.id, &[draft.parent], stamps, draft.message)?;
        objects.push(tree);
        self.write_signed(&unsigned, &committer, objects)
    }

    /// Creates a branch at a commit. Fails if it exists.
    pub fn create_branch(&self, branch: &str, commit: CommitId) -> Result<(), GitError> {
        let (doing, name) =
            (|| format!("create the branch `{branch}`"), format!("refs/heads/{branch}"));
        let id = commit.to_git();
        self.git().reference(&name, id, false, "branch: created by aof").during(doing)?;
        Ok(())
    }

    /// Returns the ids of the files and folders at the top of a commit whose names are accepted, in the order of the names.
    pub fn top_entries(
        &self,
        commit: CommitId,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<(String, ObjectId)>, GitError> {
        let names = self.trees().names(self.root_tree(commit)?, "")?;
        let named = names
            .into_iter()
            .map(|(name, leaf)| (String::from_utf8_lossy(&name).into_owned(), leaf.id));
        let mut entries: Vec<_> = named.filter(|(name, _)| is_wanted(name)).collect();
        entries.sort();
        Ok(entries)
    }

    /// Returns whether this is the main worktree, not a linked one.
    pub fn is_main_worktree(&self) -> bool {
        self.git_dir() == self.common_dir()
    }
}
