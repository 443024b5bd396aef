//! What git's index, or the worktree, has of files where HEAD says otherwise, whatever the layout of the index: git itself is asked.

use std::path::PathBuf;

use super::entries::INDEX;
use crate::git::command;
use crate::git::error::GitError;
use crate::git::id::ObjectId;
use crate::git::objects::tree::Leaf;
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
