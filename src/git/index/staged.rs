//! What git's index, or the worktree, has of files where HEAD says otherwise, whatever the layout of the index: git itself is asked.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::entries::INDEX;
use crate::git::command;
use crate::git::error::GitError;
use crate::git::id::ObjectId;
use crate::git::objects::tree::{Leaf, text};
use crate::git::repository::handle::Repository;

/// A file of the project that the index has otherwise than HEAD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedFile {
    /// Relative to the project.
    pub path: String,
    /// What HEAD has; nothing if it does not have the file.
    pub head: Option<ObjectId>,
    /// What the index has; nothing if it does not have the file, or has it in several versions.
    pub staged: Option<ObjectId>,
    /// What kind of file the index has there.
    mode: u32,
}

impl StagedFile {
    /// Returns what the file is called.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Returns what the index has.
    pub(crate) fn entry(&self) -> Option<Leaf> {
        self.staged.map(|id| Leaf { mode: self.mode, id })
    }
}

impl Repository {
    /// Has git's index know files of the project as they stand: it takes one of another size for modified, whatever it says.
    pub fn look_again(&self, paths: &[String]) -> Result<(), GitError> {
        let mut git = self.git_command();
        git.args(["update-index", "-z", "--stdin"]);
        let paths = paths.iter().map(|path| format!("{}\0", self.full_path(path)));
        command::run_git(git, paths.collect::<String>().as_bytes()).map(drop)
    }

    /// Returns the files below a folder of the project that the index has otherwise than HEAD.
    pub fn staged_below(&self, folder: &str) -> Result<Vec<StagedFile>, GitError> {
        let mut git = self.git_command();
        git.env("GIT_INDEX_FILE", self.git_dir().join("index"));
        git.args([
            "--literal-pathspecs",
            "diff-index",
            "--cached",
            "--no-renames",
            "-z",
            "HEAD",
            "--",
        ]);
        git.arg(self.full_path(folder));
        let output = command::run_git(git, &[])?;
        let mut parts = output.split(|byte| *byte == 0);
        let mut files = Vec::new();
        // `:MODE MODE ID ID STATUS`, then the path.
        while let (Some(told), Some(path)) = (parts.next(), parts.next()) {
            let (Ok(told), Ok(path)) = (str::from_utf8(told), str::from_utf8(path)) else {
                continue;
            };
            let mut told = told.split(' ').skip(1);
            let mode =
                told.next().and_then(|mode| u32::from_str_radix(mode, 8).ok()).unwrap_or_default();
            let mut ids = told.map(|id| id.parse::<ObjectId>().ok().filter(|id| !is_none(*id)));
            let (head, staged) = (ids.next().flatten(), ids.next().flatten());
            if let Some(path) = self.own_path(path) {
                files.push(StagedFile { path, head, staged, mode });
            }
        }
        Ok(files)
    }

    /// Returns the files below a folder of the project that git knows and that its index, or the worktree, has otherwise than HEAD. What
    /// git takes for unchanged by its stat data is not read.
    pub fn uncommitted_below(&self, folder: &str) -> Result<Vec<String>, GitError> {
        let mut git = self.git_command();
        git.args([
            "--literal-pathspecs",
            "status",
            "--porcelain",
            "-z",
            "--no-renames",
            "--untracked-files=no",
        ]);
        git.arg("--ignore-submodules=all").arg("--").arg(self.full_path(folder));
        let output = command::run_git(git, &[])?;
        // Two letters, a space, and the path.
        let paths =
            output.split(|byte| *byte == 0).filter_map(|line| str::from_utf8(line.get(3..)?).ok());
        Ok(paths.filter_map(|path| self.own_path(path)).collect())
    }

    /// Returns the file of the index that the next commit is made of.
    pub(crate) fn index_to_commit(&self) -> PathBuf {
        match std::env::var_os(INDEX) {
            Some(named) => self.worktree_root().join(named),
            None => self.git_dir().join("index"),
        }
    }

    /// Returns the files below a folder of the project, or the file, that the index has and that git does not look for.
    pub fn left_out_below(&self, folder: &str) -> Result<Vec<String>, GitError> {
        let mut git = self.git_command();
        git.args(["--literal-pathspecs", "ls-files", "-t", "-z", "--full-name", "--"])
            .arg(self.full_path(folder));
        let output = command::run_git(git, &[])?;
        let paths = output
            .split(|byte| *byte == 0)
            .filter_map(|line| str::from_utf8(line.strip_prefix(b"S ")?).ok());
        Ok(paths.filter_map(|path| self.own_path(path)).collect())
    }

    /// Returns whether only a part of what is committed is checked out here.
    pub fn is_checked_out_in_part(&self) -> bool {
        let mut git = self.git_command();
        git.args(["config", "--type=bool", "core.sparseCheckout"]);
        command::run_git(git, &[]).is_ok_and(|said| said.trim_ascii() == b"true")
    }
}

/// Git writes zeros where there is nothing.
fn is_none(id: ObjectId) -> bool {
    id.as_bytes().iter().all(|byte| *byte == 0)
}

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
