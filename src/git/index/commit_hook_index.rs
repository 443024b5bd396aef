//! What git is about to commit, for a hook. Git names the index in the environment: it may be another one than the worktree's, as where only
//! some files are committed. Only reads.

use std::path::PathBuf;

use git2::{DiffFile, DiffOptions};

use super::entries::INDEX;
use crate::git::error::{AuditError, During};
use crate::git::log::tree_diff::ChangedFile;
use crate::git::objects::id::{CommitId, ObjectId};
use crate::git::repository::repository::Repository;

impl Repository {
    /// Returns the files in which the next commit differs from this one, by their paths from the top of the repository.
    pub fn about_to_change(&self, commit: CommitId) -> Result<Vec<ChangedFile>, AuditError> {
        let git = self.git();
        let before =
            git.find_commit(commit.to_git()).and_then(|commit| commit.tree()).during(doing)?;
        let index = self.index_at(&self.index_to_commit())?;
        let mut options = DiffOptions::new();
        options.context_lines(0).skip_binary_check(true);
        let diff = git
            .diff_tree_to_index(Some(&before), Some(&index), Some(&mut options))
            .during(doing)?;
        let changed = diff.deltas().filter_map(|delta| {
            let (before, after) = (delta.old_file(), delta.new_file());
            let path = after.path_bytes().or_else(|| before.path_bytes())?;
            let content =
                |file: &DiffFile<'_>| (!file.id().is_zero()).then(|| ObjectId::from_git(file.id()));
            Some(ChangedFile {
                path: String::from_utf8(path.to_vec()).ok()?,
                before: content(&before),
                after: content(&after),
            })
        });
        Ok(changed.collect())
    }

    /// Returns the file of the index that the next commit is made of.
    pub(crate) fn index_to_commit(&self) -> PathBuf {
        match std::env::var_os(INDEX) {
            Some(named) => self.worktree_root().join(named),
            None => self.git_dir().join("index"),
        }
    }
}

fn doing() -> String {
    "read what git is about to commit".to_owned()
}
