//! What lies in the worktree without being committed. Reads only; nothing of it is ever committed from here.

use std::fs;
use std::os::unix::fs::MetadataExt;

use git2::{Status, StatusOptions};

use super::error::{AuditError, During};
use super::repository::Repository;

/// How many paths are told.
const MOST: usize = 100;

/// What was changed and is not committed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftBehind {
    /// The paths, each with what happened to it: `changed src/a.rs`; at most 100.
    pub paths: Vec<String>,
    /// How many more there are.
    pub more: usize,
}

impl Repository {
    /// Returns the files that were changed, made or removed since then (in seconds of Unix time) and are not committed; a file
    /// that is gone has no time and is always told. What git ignores does not count, nor do aof's own files.
    pub fn left_behind(&self, since: i64) -> Result<LeftBehind, AuditError> {
        let mut options = StatusOptions::new();
        options.include_untracked(true).recurse_untracked_dirs(false).include_ignored(false).exclude_submodules(true);
        let statuses =
            self.git().statuses(Some(&mut options)).during(|| "compare the worktree with HEAD".to_owned())?;
        let mut left = LeftBehind::default();
        for entry in statuses.iter() {
            let Ok(path) = entry.path() else { continue };
            let is_ours =
                self.own_path(path).is_some_and(|path| path.starts_with("tasks/") || path.starts_with(".aof/"));
            let Some(word) = word(entry.status()).filter(|_| !is_ours) else { continue };
            let changed = fs::symlink_metadata(self.worktree_root().join(path)).ok().map(|meta| meta.mtime());
            if changed.is_some_and(|at| at < since) {
                continue;
            }
            if left.paths.len() < MOST {
                left.paths.push(format!("{word} {path}"));
            } else {
                left.more += 1;
            }
        }
        Ok(left)
    }
}

fn word(status: Status) -> Option<&'static str> {
    let has = |wanted: Status| status.intersects(wanted);
    if has(Status::WT_NEW | Status::INDEX_NEW) {
        Some("new")
    } else if has(Status::WT_DELETED | Status::INDEX_DELETED) {
        Some("removed")
    } else if status.is_empty() || has(Status::IGNORED) {
        None
    } else {
        Some("changed")
    }
}
