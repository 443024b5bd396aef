//! Other worktrees of the repository: finds where a branch is checked out, and adds worktrees.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{During, GitError};
use crate::id::{CommitId, ObjectId};
use crate::objects::commit::Person;
use crate::objects::git_file;
use crate::repository::handle::Repository;
use crate::repository::open::link_of;

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

/// A worktree that git has a record of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedWorktree {
    /// The folder of its files.
    pub folder: PathBuf,
    /// `None` with a detached HEAD.
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub head: Option<CommitId>,
    /// The reason why it is locked; empty if none was given.
    pub lock: Option<String>,
    /// True if the folder is there, and belongs to this repository.
    pub is_there: bool,
    /// True if git has finished checking it out.
    pub is_whole: bool,
    /// The folder of git's record of it.
    pub(crate) record: PathBuf,
}

impl LinkedWorktree {
    /// Returns git's name for it: that of the folder in which it was added, with a number if there was one.
    pub fn name(&self) -> &str {
        self.record.file_name().and_then(|name| name.to_str()).unwrap_or_default()
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

    /// Returns the worktrees besides the main one, and those whose folder is gone.
    pub fn linked_worktrees(&self) -> Result<Vec<LinkedWorktree>, GitError> {
        let mut found = Vec::new();
        for record in self.records() {
            let Some(folder) = folder_of(&record) else { continue };
            let head = self.head_in(&record)?;
            let is_there = link_of(&folder).is_some_and(|link| is_same(&link, &record));
            let lock = git_file::read_text(&record.join("locked")).ok();
            let lock = lock.map(|reason| reason.trim().to_owned());
            let (branch, is_whole) = (branch_of(&record), is_whole(&record));
            found.push(LinkedWorktree { folder, branch, head, lock, is_there, is_whole, record });
        }
        Ok(found)
    }

    /// Returns the commits that other worktrees have checked out, leaving out those without one.
    pub fn other_heads(&self) -> Result<Vec<OtherHead>, GitError> {
        let mut heads = Vec::new();
        if !is_same(self.git_dir(), self.common_dir())
            && let Some(folder) = self.main_folder()
            && let Some(commit) = self.head_in(self.common_dir())?
        {
            heads.push(OtherHead { folder, branch: branch_of(self.common_dir()), commit });
        }
        let linked = self.linked_worktrees()?.into_iter();
        let others = linked.filter(|one| one.is_there && !is_same(&one.record, self.git_dir()));
        heads.extend(others.filter_map(|LinkedWorktree { folder, branch, head, .. }| {
            head.map(|commit| OtherHead { folder, branch, commit })
        }));
        Ok(heads)
    }

    /// Returns the commit that a worktree has checked out, given its folder in the repository.
    pub(crate) fn head_in(&self, git_dir: &Path) -> Result<Option<CommitId>, GitError> {
        let head = git_file::read_text(&git_dir.join("HEAD")).unwrap_or_default();
        match head.strip_prefix("ref: ") {
            Some(reference) => self.read_reference(reference.trim_end()),
            None => Ok(head.trim_end().parse().ok()),
        }
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
