//! What lies in the worktree without being committed. Reads only; nothing of it is ever committed from here.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use crate::git::command;
use crate::git::error::GitError;
use crate::git::objects::tree::text;
use crate::git::repository::handle::Repository;

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
    pub fn left_behind(&self, since: i64) -> Result<LeftBehind, GitError> {
        let mut git = self.git_command();
        git.args([
            "status",
            "--porcelain",
            "-z",
            "--no-renames",
            "--untracked-files=normal",
            "--ignore-submodules=all",
        ]);
        let told = command::run_git(git, &[])?;
        let mut left = LeftBehind::default();
        for (states, path) in
            told.split(|byte| *byte == 0).filter_map(|line| line.split_at_checked(3))
        {
            let place = self.worktree_root().join(OsStr::from_bytes(path));
            let path = text(path.to_owned());
            let is_ours = self
                .own_path(&path)
                .is_some_and(|path| path.starts_with("tasks/") || path.starts_with(".aof/"));
            if is_ours {
                continue;
            }
            let changed = fs::symlink_metadata(place).ok().map(|meta| meta.mtime());
            if changed.is_some_and(|at| at < since) {
                continue;
            }
            if left.paths.len() < MOST {
                left.paths.push(format!("{} {path}", word(&states[..2])));
            } else {
                left.more += 1;
            }
        }
        Ok(left)
    }
}

/// Says in a word what git says in two letters: what the index has otherwise than HEAD, and the worktree otherwise than the index.
fn word(states: &[u8]) -> &'static str {
    if states.contains(&b'U') || matches!(states, b"AA" | b"DD") {
        "changed"
    } else if states.contains(&b'A') || states.contains(&b'?') {
        "new"
    } else if states.contains(&b'D') {
        "removed"
    } else {
        "changed"
    }
}
