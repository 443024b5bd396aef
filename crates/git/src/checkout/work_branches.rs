//! Worktrees of branches that agents work on: adds and removes them, commits what is left in them, and tells whether a branch's changes
//! have arrived on another one. Never stashes, never sets `core.hooksPath`, and never checks anything out in another worktree.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::worktrees::LinkedWorktree;
use crate::command;
use crate::error::{During, GitError};
use crate::id::CommitId;
use crate::objects::commit::Person;
use crate::objects::git_file;
use crate::repository::handle::Repository;

/// The time limit for checking out, adding or hashing many files.
const TIMEOUT: Duration = Duration::from_mins(30);
/// The most commits of a base that are compared with the changes of a branch.
const MOST_COMPARED: usize = 1000;

/// A changed file of a worktree, which git does not ignore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftFile {
    /// Relative to the worktree, as text; of an embedded repository, with a slash at its end.
    pub path: String,
    /// The same, byte for byte.
    pub name: PathBuf,
    pub is_untracked: bool,
}

/// The checkout of a worktree to add.
#[derive(Debug, Clone, Copy)]
pub enum NewCheckout<'a> {
    /// An existing branch.
    Branch(&'a str),
    /// A new branch that tracks a remote's, as `origin/aof`.
    Tracking(&'a str, &'a str),
    /// A new branch at a commit.
    NewBranch(&'a str, CommitId),
    /// A commit, with a detached HEAD.
    Detached(CommitId),
}

impl Repository {
    /// Adds a worktree. Git inherits the lock on the open file until it ends.
    pub fn add_work_folder(
        &self,
        folder: &Path,
        checkout: NewCheckout<'_>,
        held: &File,
    ) -> Result<(), GitError> {
        let mut git = self.worktree_git();
        // The first `--force` ignores the record of a worktree whose folder was removed.
        git.args(["worktree", "add", "--force", "--quiet"]);
        match checkout {
            NewCheckout::Branch(branch) => git.arg("--").arg(folder).arg(branch),
            NewCheckout::Tracking(branch, from) => {
                git.args(["--track", "-b", branch, "--"]).arg(folder).arg(from)
            }
            NewCheckout::NewBranch(branch, commit) => {
                git.args(["-b", branch, "--no-track", "--"]).arg(folder).arg(commit.to_string())
            }
            NewCheckout::Detached(commit) => {
                git.args(["--detach", "--"]).arg(folder).arg(commit.to_string())
            }
        };
        command::run_git_holding(git, held, TIMEOUT)
    }

    /// Removes a worktree with all that is in it. If it is locked, git refuses, unless that is to be ignored.
    pub fn remove_work_folder(&self, folder: &Path, even_locked: bool) -> Result<(), GitError> {
        let mut git = self.worktree_git();
        git.args(["worktree", "remove", "--force"]).args(even_locked.then_some("--force"));
        git.arg("--").arg(folder);
        command::run_git_for(git, &[], TIMEOUT).map(drop)
    }

    /// Moves a reference, by compare-and-swap; `None` as the old value means that it does not exist.
    pub fn move_reference(
        &self,
        name: &str,
        new: CommitId,
        old: Option<CommitId>,
    ) -> Result<(), GitError> {
        let mut git = self.worktree_git();
        let old = old.map_or_else(|| "0".repeat(40), |old| old.to_string());
        git.args(["update-ref", "-m", "aof", name, &new.to_string(), &old]);
        command::run_git(git, &[]).map(drop)
    }

    /// Deletes a reference that has this value.
    pub fn delete_reference(&self, name: &str, old: CommitId) -> Result<(), GitError> {
        let mut git = self.worktree_git();
        git.args(["update-ref", "-m", "aof", "-d", name, &old.to_string()]);
        command::run_git(git, &[]).map(drop)
    }

    /// Returns the changed and untracked files of this worktree that git does not ignore.
    pub fn left_files(&self) -> Result<Vec<LeftFile>, GitError> {
        let status =
            self.status(["--untracked-files=all", "--ignore-submodules=none"], [] as [&str; 0])?;
        let file = |(states, path): ([u8; 2], Vec<u8>)| LeftFile {
            path: String::from_utf8_lossy(&path).into_owned(),
            name: PathBuf::from(OsString::from_vec(path)),
            is_untracked: states == *b"??",
        };
        Ok(status.into_iter().map(file).collect())
    }

    /// Commits these changed and untracked files of this worktree as that author. Runs no hook.
    pub fn commit_left_files(
        &self,
        files: &[LeftFile],
        author: &Person,
        message: &str,
    ) -> Result<CommitId, GitError> {
        let mut git = self.git_command();
        git.args(["update-index", "--add", "--remove", "--replace", "-z", "--stdin"]);
        let names: Vec<&[u8]> = files.iter().map(|file| file.name.as_os_str().as_bytes()).collect();
        command::run_git_for(git, &names.join(&0), TIMEOUT)?;
        let mut git = self.git_command();
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), author.name());
            git.env(format!("GIT_{role}_EMAIL"), author.email());
        }
        git.args(["commit", "--no-verify", "--quiet", "--cleanup=verbatim", "--file=-"]);
        command::run_git_for(git, message.as_bytes(), TIMEOUT)?;
        let head = self.head_for_reading()?;
        head.commit.ok_or(GitError::Unchanged)
    }

    /// Writes a tree of all files of this worktree that git does not ignore, and returns its name. The worktree and its index stay.
    pub fn write_tree_of_files(&self) -> Result<String, GitError> {
        let index = self.git_dir().join(format!("aof-salvage-{}", std::process::id()));
        let run = |words: &[&str]| {
            let mut git = self.git_command();
            git.env("GIT_INDEX_FILE", &index).args(words);
            command::run_git_for(git, &[], TIMEOUT)
        };
        let written = (|| {
            run(&["read-tree", "HEAD"])?;
            run(&["add", "--all", "--", ":/"])?;
            run(&["write-tree"])
        })();
        let _ = std::fs::remove_file(&index);
        Ok(String::from_utf8_lossy(&written?).trim().to_owned())
    }

    /// Writes a commit with these parents and the tree of a commit, on no branch.
    pub fn write_commit_of_tree(
        &self,
        tree: &str,
        parents: &[CommitId],
        message: &str,
    ) -> Result<CommitId, GitError> {
        let mut git = self.worktree_git();
        git.args(["commit-tree", "--no-gpg-sign", tree, "-F", "-"]);
        git.args(parents.iter().flat_map(|parent| ["-p".to_owned(), parent.to_string()]));
        let id = command::run_git_for(git, message.as_bytes(), TIMEOUT)?;
        String::from_utf8_lossy(&id).trim().parse().map_err(|_| GitError::Unchanged)
    }

    /// Returns the commits of a worktree's reflog that are reachable neither from this one nor from a branch, the newest first.
    pub fn unreachable_of_reflog(
        &self,
        worktree: &LinkedWorktree,
        known: Option<CommitId>,
    ) -> Result<Vec<CommitId>, GitError> {
        let log = git_file::read_text(&worktree.record.join("logs/HEAD")).unwrap_or_default();
        let new = log.lines().filter_map(|line| line.split(' ').nth(1)?.parse().ok());
        let seen: BTreeSet<CommitId> = new.collect();
        if seen.is_empty() {
            return Ok(Vec::new());
        }
        let mut git = self.worktree_git();
        git.args(["rev-list", "--ignore-missing", "--stdin", "--not", "--branches"]);
        git.args(known.map(|known| known.to_string()));
        let names: Vec<String> = seen.iter().map(CommitId::to_string).collect();
        let missing = command::run_git_for(git, names.join("\n").as_bytes(), TIMEOUT)?;
        let missing = String::from_utf8_lossy(&missing);
        Ok(missing
            .lines()
            .filter_map(|line| line.parse().ok())
            .filter(|id| seen.contains(id))
            .collect())
    }

    /// Returns the untracked files that match these patterns of `.gitignore`, or those of a file; they may be ignored.
    pub fn untracked_files(
        &self,
        patterns: &[String],
        file: Option<&Path>,
    ) -> Result<Vec<String>, GitError> {
        let mut git = self.git_command();
        git.args(["ls-files", "--others", "--ignored", "-z"]);
        git.args(patterns.iter().map(|pattern| format!("--exclude={pattern}")));
        if let Some(file) = file {
            git.arg("--exclude-from").arg(file);
        }
        let output = command::run_git_for(git, &[], TIMEOUT)?;
        let paths = output.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.filter_map(|path| String::from_utf8(path.to_vec()).ok()).collect())
    }

    /// Returns whether the changes of a commit have arrived on a base: it is an ancestor, has the same tree, adds nothing when it is merged,
    /// or one commit there makes the same changes.
    pub fn has_arrived(&self, commit: CommitId, base: CommitId) -> Result<bool, GitError> {
        let doing = || format!("compare {commit} with {base}");
        if self.is_ancestor(commit, base)? {
            return Ok(true);
        }
        let git = self.git();
        let (ours, theirs) = (git.find_commit(base.to_git()), git.find_commit(commit.to_git()));
        let (ours, theirs) = (ours.during(doing)?, theirs.during(doing)?);
        if ours.tree_id() == theirs.tree_id() {
            return Ok(true);
        }
        let Some(fork) = self.merge_bases(commit, base)?.first().copied() else { return Ok(false) };
        let mut merged = git.merge_commits(&ours, &theirs, None).during(doing)?;
        if !merged.has_conflicts() && merged.write_tree_to(git).during(doing)? == ours.tree_id() {
            return Ok(true);
        }
        let patch = |from: Option<git2::Tree<'_>>, to: &git2::Tree<'_>| {
            let diff = git.diff_tree_to_tree(from.as_ref(), Some(to), None)?;
            Ok::<_, git2::Error>((diff.patchid(None)?, diff.deltas().len()))
        };
        let start = git.find_commit(fork.to_git()).and_then(|fork| fork.tree()).during(doing)?;
        let ours = patch(Some(start), &theirs.tree().during(doing)?).during(doing)?;
        let mut walk = git.revwalk().during(doing)?;
        walk.push(base.to_git()).and_then(|()| walk.hide(fork.to_git())).during(doing)?;
        for id in walk.take(MOST_COMPARED) {
            let other = id.and_then(|id| git.find_commit(id)).during(doing)?;
            if other.parent_count() != 1 {
                continue;
            }
            let before = other.parent(0).and_then(|parent| parent.tree()).during(doing)?;
            if patch(Some(before), &other.tree().during(doing)?).during(doing)? == ours {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the difference between two commits, or to the worktree, as `git diff` shows it, for these paths or for all.
    pub fn diff_text(
        &self,
        from: CommitId,
        to: Option<CommitId>,
        paths: &[String],
    ) -> Result<String, GitError> {
        let mut git = self.git_command();
        git.args(["--literal-pathspecs", "diff", "--no-color", "--no-ext-diff"]);
        git.arg(from.to_string()).args(to.map(|to| to.to_string())).arg("--").args(paths);
        let text = command::run_git_for(git, &[], TIMEOUT)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}
