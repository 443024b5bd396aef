//! Other worktrees of the repository: finds where a branch is checked out, and adds worktrees.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::command;
use crate::error::{During, GitError};
use crate::id::{CommitId, ObjectId};
use crate::objects::commit::Person;
use crate::objects::git_file;
use crate::repository::handle::Repository;
use crate::repository::open::link_of;

/// The time limit for checking out a branch: it may be large, and the disk slow.
const CHECKOUT_TIMEOUT: Duration = Duration::from_mins(30);

/// Another worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// The folder of its files.
    pub folder: PathBuf,
    /// True if git has finished checking it out.
    pub is_whole: bool,
}

/// The commit that another worktree has checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherHead {
    /// The folder of its files.
    pub folder: PathBuf,
    /// `None` with a detached HEAD.
    pub branch: Option<String>,
    pub commit: CommitId,
}

impl OtherHead {
    /// Returns the worktree as people name it.
    pub fn name(&self) -> String {
        let branch = self.branch.as_ref().map(|branch| format!(" (branch `{branch}`)"));
        format!("the worktree `{}`{}", self.folder.display(), branch.unwrap_or_default())
    }
}

/// The source from which a branch can be checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchSource {
    /// A local branch.
    Here,
    /// A remote-tracking branch, as `origin/aof`.
    Remote(String),
}

impl Repository {
    /// Returns whether the branch is checked out here.
    pub fn has_checked_out(&self, branch: &str) -> bool {
        has_it(self.git_dir(), branch)
    }

    /// Returns whether git has finished checking out this worktree.
    pub fn is_whole(&self) -> bool {
        is_whole(self.git_dir())
    }

    /// Returns the other worktree that has the branch checked out. A folder that belongs to another repository, as in a copied
    /// repository, does not count.
    pub fn worktree_of(&self, branch: &str) -> Option<Worktree> {
        let mut others = self.records().into_iter().filter(|record| has_it(record, branch));
        let linked = others.find_map(|record| {
            let folder = folder_of(&record)?;
            let is_whole = is_whole(&record);
            // Git creates the folder before it writes the `.git` file into it.
            let is_its = !is_whole || link_of(&folder).is_some_and(|link| is_same(&link, &record));
            (folder.is_dir() && is_its).then_some(Worktree { folder, is_whole })
        });
        linked.or_else(|| {
            let folder = self.main_folder().filter(|_| has_it(self.common_dir(), branch))?;
            Some(Worktree { folder, is_whole: true })
        })
    }

    /// Returns whether another completely checked-out worktree is in that folder.
    pub fn has_worktree_at(&self, folder: &Path) -> bool {
        self.records().iter().any(|record| {
            is_whole(record) && folder_of(record).is_some_and(|other| other == folder)
        })
    }

    /// Returns the commits that other worktrees have checked out, leaving out those without one.
    pub fn other_heads(&self) -> Result<Vec<OtherHead>, GitError> {
        let linked = self.records().into_iter().filter_map(|record| {
            let folder = folder_of(&record).filter(|_| !is_same(&record, self.git_dir()))?;
            link_of(&folder).is_some_and(|link| is_same(&link, &record)).then_some((record, folder))
        });
        let is_linked = !is_same(self.git_dir(), self.common_dir());
        let main = is_linked.then(|| self.main_folder()).flatten();
        let main = main.map(|folder| (self.common_dir().to_owned(), folder));
        let mut heads = Vec::new();
        for (git_dir, folder) in main.into_iter().chain(linked) {
            let head = git_file::read_text(&git_dir.join("HEAD")).unwrap_or_default();
            let commit = match head.strip_prefix("ref: ") {
                Some(reference) => self.read_reference(reference.trim_end())?,
                None => head.trim_end().parse().ok(),
            };
            let branch = branch_of(&git_dir);
            heads.extend(commit.map(|commit| OtherHead { folder, branch, commit }));
        }
        Ok(heads)
    }

    /// Returns the folder of the main worktree, if there is one.
    fn main_folder(&self) -> Option<PathBuf> {
        let is_bare =
            self.git().config().and_then(|config| config.get_bool("core.bare")).unwrap_or(false);
        let folder = self.common_dir().parent().filter(|_| !is_bare)?;
        self.common_dir().ends_with(".git").then(|| folder.to_owned())
    }

    /// Returns the folders below `.git/worktrees`.
    pub(crate) fn records(&self) -> Vec<PathBuf> {
        let listing = fs::read_dir(self.common_dir().join("worktrees"));
        let mut records: Vec<PathBuf> =
            listing.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        records.sort();
        records
    }

    /// Returns the source from which the branch can be checked out; the named remote is preferred.
    pub fn branch_source(
        &self,
        branch: &str,
        remote: Option<&str>,
    ) -> Result<Option<BranchSource>, GitError> {
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

    /// Checks the branch out in a folder; creates it from the remote's if it does not exist. Git inherits the lock on the open
    /// file until it ends.
    pub fn add_worktree(
        &self,
        folder: &Path,
        branch: &str,
        source: &BranchSource,
        held: &File,
    ) -> Result<(), GitError> {
        let mut git = self.worktree_git();
        // `--force` ignores the record of a worktree whose folder was removed.
        git.args(["worktree", "add", "--force", "--quiet"]);
        match source {
            BranchSource::Here => git.arg("--").arg(folder).arg(branch),
            BranchSource::Remote(from) => {
                git.args(["--track", "-b", branch, "--"]).arg(folder).arg(from)
            }
        };
        command::run_git_holding(git, held, CHECKOUT_TIMEOUT)?;
        Ok(())
    }

    /// Creates a branch with one empty commit.
    pub fn begin_branch(&self, branch: &str, message: &str) -> Result<CommitId, GitError> {
        let doing = || format!("begin the branch `{branch}`");
        let (author, committer) = (self.author_identity()?, self.identity()?);
        let signature = |person: &Person| git2::Signature::now(person.name(), person.email());
        let git = self.git();
        let tree = git.treebuilder(None).and_then(|empty| empty.write()).during(doing)?;
        let tree = git.find_tree(tree).during(doing)?;
        let reference = format!("refs/heads/{branch}");
        let (author, committer) =
            (signature(&author).during(doing)?, signature(&committer).during(doing)?);
        let id =
            git.commit(Some(&reference), &author, &committer, message, &tree, &[]).during(doing)?;
        Ok(CommitId::new(ObjectId::from_git(id)))
    }

    /// Returns a git command that runs in the common directory, and runs no hooks.
    pub(crate) fn worktree_git(&self) -> Command {
        let mut git = self.git_command();
        // The folder of this worktree may be the one that is removed and created again.
        git.current_dir(self.common_dir())
            .env_remove("GIT_WORK_TREE")
            .env("GIT_DIR", self.common_dir());
        git
    }
}

/// Returns whether that worktree has the branch checked out, or is rebasing or bisecting it with a detached HEAD.
fn has_it(git_dir: &Path, branch: &str) -> bool {
    branch_of(git_dir).as_deref() == Some(branch)
}

/// Returns the branch that is checked out there.
pub(crate) fn branch_of(git_dir: &Path) -> Option<String> {
    let read = |name: &str| git_file::read_text(&git_dir.join(name)).ok();
    let head = read("HEAD")?;
    if let Some(reference) = head.strip_prefix("ref: ") {
        return reference.trim_end().strip_prefix("refs/heads/").map(str::to_owned);
    }
    let rebased = ["rebase-merge/head-name", "rebase-apply/head-name"].into_iter().find_map(read);
    let rebased =
        rebased.and_then(|name| name.trim_end().strip_prefix("refs/heads/").map(str::to_owned));
    rebased.or_else(|| read("BISECT_START").map(|name| name.trim_end().to_owned()))
}

/// Returns the worktree's folder of files, given its folder below `.git/worktrees`.
pub(crate) fn folder_of(record: &Path) -> Option<PathBuf> {
    let link = git_file::read_text(&record.join("gitdir")).ok()?;
    // The path may be relative to the record's folder.
    let link = record.join(link.trim_end_matches(['\n', '\r']));
    let folder = link.parent()?;
    Some(fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()))
}

/// Returns whether both are the same existing folder.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    one == other
        || fs::canonicalize(one)
            .is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

/// Returns whether a checkout has finished. Git locks a worktree meanwhile, with a localized reason, and writes the index at the end.
fn is_whole(git_dir: &Path) -> bool {
    let reason = git_file::read_text(&git_dir.join("locked"));
    !reason.is_ok_and(|text| text.trim() == "initializing" || !git_dir.join("index").exists())
}
