//! What git is about to commit, for a hook that it asks before: git names the index in the environment, since it may be another one than
//! the worktree's, as where only some files are committed. Only reads.

use std::path::PathBuf;

use git2::DiffOptions;

use super::entries::INDEX;
use crate::git::error::{AuditError, During};
use crate::git::objects::id::CommitId;
use crate::git::repository::repository::Repository;

impl Repository {
    /// Returns the files that the next commit has otherwise than this one, by their paths from the top of the repository.
    pub fn about_to_change(&self, head: CommitId) -> Result<Vec<String>, AuditError> {
        let git = self.git();
        let before =
            git.find_commit(head.to_git()).and_then(|commit| commit.tree()).during(doing)?;
        let index = self.index_at(&self.index_to_commit())?;
        let mut options = DiffOptions::new();
        options.context_lines(0).skip_binary_check(true);
        let diff = git
            .diff_tree_to_index(Some(&before), Some(&index), Some(&mut options))
            .during(doing)?;
        let paths = diff
            .deltas()
            .flat_map(|delta| [delta.old_file().path_bytes(), delta.new_file().path_bytes()]);
        let mut paths: Vec<String> =
            paths.flatten().filter_map(|path| String::from_utf8(path.to_vec()).ok()).collect();
        paths.dedup();
        Ok(paths)
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
