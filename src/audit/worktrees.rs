//! Other worktrees of the repository: where a branch is checked out, and checking one out beside the one that people work in.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::{AuditError, During};
use super::id::{CommitId, ObjectId};
use super::identity::Person;
use super::repository::Repository;
use super::spawn;

/// Where a branch can be had from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchSource {
    /// It is here.
    Here,
    /// It was fetched from a remote, as `origin/aof`.
    Remote(String),
}

impl Repository {
    /// Returns whether the branch is checked out here.
    pub fn has_checked_out(&self, branch: &str) -> bool {
        has_it(self.git_dir(), branch)
    }

    /// Returns the folder of the other worktree that has the branch checked out, if one has.
    pub fn worktree_of(&self, branch: &str) -> Result<Option<PathBuf>, AuditError> {
        let names = self.git().worktrees().during(|| "list the worktrees".to_owned())?;
        for name in names.iter().flatten().flatten() {
            let Ok(worktree) = self.git().find_worktree(name) else { continue };
            if has_it(&self.common_dir().join("worktrees").join(name), branch) && worktree.path().is_dir() {
                return Ok(Some(worktree.path().to_owned()));
            }
        }
        Ok(None)
    }

    /// Returns where the branch can be had from; the remote that is named comes before others.
    pub fn branch_source(&self, branch: &str, remote: Option<&str>) -> Result<Option<BranchSource>, AuditError> {
        if self.resolve(&format!("refs/heads/{branch}"))?.is_some() {
            return Ok(Some(BranchSource::Here));
        }
        let names = self.git().remotes().during(|| "read which remotes there are".to_owned())?;
        let known: Vec<&str> = names.iter().flatten().flatten().collect();
        let first = remote.or_else(|| known.contains(&"origin").then_some("origin"));
        for remote in first.into_iter().chain(known.iter().copied()) {
            if self.resolve(&format!("refs/remotes/{remote}/{branch}"))?.is_some() {
                return Ok(Some(BranchSource::Remote(format!("{remote}/{branch}"))));
            }
        }
        Ok(None)
    }

    /// Checks the branch out in a folder of its own; one that is not there yet begins where the remote has it.
    pub fn add_worktree(&self, folder: &Path, branch: &str, source: &BranchSource) -> Result<(), AuditError> {
        let mut git = self.worktree_git();
        // What is remembered of a folder that somebody removed is no hindrance.
        git.args(["worktree", "add", "--force", "--quiet"]);
        match source {
            BranchSource::Here => git.arg("--").arg(folder).arg(branch),
            BranchSource::Remote(from) => git.args(["--track", "-b", branch, "--"]).arg(folder).arg(from),
        };
        spawn::run_git(git, &[]).map(drop)
    }

    /// Begins a branch with a commit of that message that holds nothing.
    pub fn begin_branch(&self, branch: &str, message: &str) -> Result<CommitId, AuditError> {
        let doing = || format!("begin the branch `{branch}`");
        let (author, committer) = (self.author_identity()?, self.identity()?);
        let signature = |person: &Person| git2::Signature::now(person.name(), person.email());
        let git = self.git();
        let tree = git.treebuilder(None).and_then(|empty| empty.write()).during(doing)?;
        let tree = git.find_tree(tree).during(doing)?;
        let reference = format!("refs/heads/{branch}");
        let (author, committer) = (signature(&author).during(doing)?, signature(&committer).during(doing)?);
        let id = git.commit(Some(&reference), &author, &committer, message, &tree, &[]).during(doing)?;
        Ok(CommitId::new(ObjectId::from_git(id)))
    }

    /// Returns git for commands that look for the repository themselves, and run none of its hooks.
    fn worktree_git(&self) -> Command {
        let mut git = spawn::git(self);
        git.env_remove("GIT_WORK_TREE").env("GIT_DIR", self.common_dir());
        git
    }
}

fn has_it(git_dir: &Path, branch: &str) -> bool {
    let head = std::fs::read_to_string(git_dir.join("HEAD"));
    head.is_ok_and(|text| text.trim_end().strip_prefix("ref: refs/heads/") == Some(branch))
}
