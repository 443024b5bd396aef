//! Reading history: commits newest first, all of them or those that touched given paths. Reads no worktree.
//!
//! A walk reads few trees per commit: it compares two commits only by the object ids at the given paths.

use std::borrow::Cow;
use std::collections::{BinaryHeap, HashMap, HashSet};

use git2::Reference;

use crate::attributes::with_lf;
use crate::command;
use crate::error::{During, GitError};
use crate::id::{CommitId, ObjectId};
use crate::objects::commit::{Links, LogEntry};
use crate::objects::loose::ObjectKind;
use crate::objects::tree::Leaf;
use crate::repository::handle::Repository;

/// The number of changes of a file that are searched for an old version.
pub const LOOK_BACK: usize = 100;

/// Commits, newest first; a commit never comes before one of its children unless a clock was wrong.
pub struct Log<'r> {
    repository: &'r Repository,
    /// Full paths; empty for every commit.
    paths: Vec<String>,
    waiting: BinaryHeap<(i64, std::cmp::Reverse<u64>, CommitId)>,
    seen: HashSet<CommitId>,
    /// The entries at the paths in commits that are still waiting.
    looked: HashMap<CommitId, Vec<Option<Leaf>>>,
    number: u64,
    shallow: bool,
}

impl Repository {
    /// Walks this commit and all of its ancestors.
    pub fn log(&self, from: CommitId) -> Result<Log<'_>, GitError> {
        Log::start(self, from, Vec::new())
    }

    /// Walks the commits that changed one of these files or folders of the project; `""` is the whole project. At a merge with
    /// the same version as a parent, only that parent is followed, as `git log PATH` does.
    pub fn log_of(&self, from: CommitId, paths: &[&str]) -> Result<Log<'_>, GitError> {
        Log::start(self, from, paths.iter().map(|path| self.full_path(path)).collect())
    }

    /// Returns whether one of the last commits that changed this file of the project gave it that content.
    pub(crate) fn has_had(
        &self,
        from: CommitId,
        path: &str,
        content: ObjectId,
    ) -> Result<bool, GitError> {
        for entry in self.log_of(from, &[path])?.take(LOOK_BACK) {
            if self.blob_id(entry?.id, path)? == Some(content) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether [`Self::has_had`] holds for the bytes of a worktree's file, whose line ends git may have converted.
    pub fn has_had_text(&self, from: CommitId, path: &str, bytes: &[u8]) -> Result<bool, GitError> {
        if self.has_had(from, path, self.hash_blob(bytes))? {
            return Ok(true);
        }
        match with_lf(bytes) {
            Cow::Owned(plain) => self.has_had(from, path, self.hash_blob(&plain)),
            Cow::Borrowed(_) => Ok(false),
        }
    }

    /// Returns the first-parent history up to this commit, oldest first, as far as this clone has it.
    pub fn line_to(&self, head: CommitId) -> Result<Vec<CommitId>, GitError> {
        let mut line = vec![head];
        let mut at = self.links(head)?;
        while let Some(parent) = at.parents.first().copied() {
            at = match self.links(parent) {
                Ok(links) => links,
                // A shallow clone ends at commits whose parents it does not have.
                Err(GitError::Missing { .. }) if self.is_shallow()? => break,
                Err(fault) => return Err(fault),
            };
            line.push(parent);
        }
        line.reverse();
        Ok(line)
    }

    /// Returns whether the commit is here, even if damaged.
    pub fn has_commit(&self, id: CommitId) -> bool {
        !matches!(
            self.reader().read(ObjectKind::Commit, id.object()),
            Err(GitError::Missing { .. } | GitError::Git { .. })
        )
    }

    /// Turns a path of the worktree into one of the project, if it is one.
    pub fn own_path(&self, full: &str) -> Option<String> {
        match self.prefix() {
            "" => Some(full.to_owned()),
            prefix => full.strip_prefix(prefix)?.strip_prefix('/').map(str::to_owned),
        }
    }
}

impl<'r> Log<'r> {
    pub fn start(
        repository: &'r Repository,
        from: CommitId,
        paths: Vec<String>,
    ) -> Result<Self, GitError> {
        let mut log = Self {
            repository,
            paths,
            waiting: BinaryHeap::new(),
            seen: HashSet::new(),
            looked: HashMap::new(),
            number: 0,
            shallow: repository.is_shallow()?,
        };
        log.add(from)?;
        Ok(log)
    }

    fn add(&mut self, id: CommitId) -> Result<(), GitError> {
        if self.seen.insert(id) {
            let committed = self.repository.links(id)?.committed;
            self.number += 1;
            self.waiting.push((committed, std::cmp::Reverse(self.number), id));
        }
        Ok(())
    }

    /// Returns the next commit that changed one of the paths.
    fn advance(&mut self) -> Result<Option<CommitId>, GitError> {
        while let Some((_, _, id)) = self.waiting.pop() {
            let links = self.repository.links(id)?;
            let parents = self.parents_in_reach(&links);
            if self.paths.is_empty() {
                for parent in parents {
                    self.add(parent)?;
                }
                return Ok(Some(id));
            }
            let here = match self.looked.remove(&id) {
                Some(here) => here,
                None => self.look(links.tree)?,
            };
            let mut same = None;
            for parent in &parents {
                let there = self.look(self.repository.root_tree(*parent)?)?;
                let is_same = there == here;
                self.looked.insert(*parent, there);
                if is_same {
                    same = Some(*parent);
                    break;
                }
            }
            if let Some(parent) = same {
                self.add(parent)?;
                continue;
            }
            let came_with_it = !parents.is_empty() || here.iter().any(Option::is_some);
            for parent in parents {
                self.add(parent)?;
            }
            if came_with_it {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Returns the parents that this clone has. A shallow clone ends at commits whose parents it lacks.
    fn parents_in_reach(&self, links: &Links) -> Vec<CommitId> {
        let is_here = |parent: &CommitId| !self.shallow || self.repository.has_commit(*parent);
        links.parents.iter().copied().filter(is_here).collect()
    }

    /// Returns the entries at the paths below that tree.
    fn look(&self, root: ObjectId) -> Result<Vec<Option<Leaf>>, GitError> {
        let trees = self.repository.trees();
        self.paths.iter().map(|path| trees.lookup(root, path)).collect()
    }
}

impl Iterator for Log<'_> {
    type Item = Result<LogEntry, GitError>;

    fn next(&mut self) -> Option<Self::Item> {
        let id = self.advance().transpose()?;
        Some(id.and_then(|id| self.repository.log_entry(id)))
    }
}

impl Repository {
    /// Resolves a revision to a commit: a branch, a tag, `HEAD~3`, an abbreviated id.
    pub fn commit_named(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        // References are resolved here, so that the error for a damaged object names it and the fix.
        if let Some(object) = self.object_of_reference(name)? {
            return self.peeled(object);
        }
        let mut git = self.git_command();
        git.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        git.arg(format!("{name}^{{commit}}"));
        let resolved = match command::run_git(git, &[]) {
            Ok(resolved) => {
                return Ok(str::from_utf8(&resolved).ok().and_then(|id| id.trim().parse().ok()));
            }
            Err(resolved) => resolved,
        };
        let start = name.split(['~', '^']).next().unwrap_or(name);
        if let Some(object) = self.object_of_reference(start)?
            && let Some(commit) = self.peeled(object)?
        {
            for entry in self.log(commit)? {
                entry?;
            }
        }
        match resolved {
            // With `--quiet`, git prints nothing about an unknown name.
            GitError::Command { detail, .. } if detail.is_empty() => Ok(None),
            resolved => Err(resolved),
        }
    }

    fn object_of_reference(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        for folder in ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"] {
            let reference = format!("{folder}{name}");
            if Reference::is_valid_name(&reference)
                && let Some(found) = self.resolve(&reference)?
            {
                return Ok(Some(found.object()));
            }
        }
        Ok(None)
    }

    /// Returns the commit that an object is or tags; otherwise `None`.
    pub fn commit_behind(&self, id: ObjectId) -> Result<Option<CommitId>, GitError> {
        self.peeled(id)
    }

    /// Returns the commits of all references: branches, tags, and others such as pull requests.
    pub fn named_commits(&self) -> Result<Vec<CommitId>, GitError> {
        let mut commits = Vec::new();
        for object in self.references_below("refs/")? {
            // A broken reference names nothing.
            commits.extend(self.peeled(object).unwrap_or_default());
        }
        commits.sort();
        commits.dedup();
        Ok(commits)
    }

    /// Returns the branches, local ones and those of remotes, by their short names; broken ones are skipped.
    pub fn branches(&self) -> Result<Vec<(String, CommitId)>, GitError> {
        let doing = || "list the branches".to_owned();
        let mut found = Vec::new();
        for branch in self.git().branches(None).during(doing)? {
            let (branch, _) = branch.during(doing)?;
            let commit = branch.get().peel_to_commit().ok();
            let name = branch.name().ok().flatten().map(str::to_owned);
            found.extend(
                name.zip(commit.map(|commit| CommitId::new(ObjectId::from_git(commit.id())))),
            );
        }
        Ok(found)
    }

    /// Returns the remote-tracking branches, as `origin/aof`; broken and symbolic ones are skipped.
    pub fn remote_branches(&self) -> Result<Vec<(String, CommitId)>, GitError> {
        self.branches_below("refs/remotes/")
    }

    /// Returns the local branches; broken and symbolic ones are skipped.
    pub fn local_branches(&self) -> Result<Vec<(String, CommitId)>, GitError> {
        self.branches_below("refs/heads/")
    }

    fn branches_below(&self, folder: &str) -> Result<Vec<(String, CommitId)>, GitError> {
        let doing = || "list the branches".to_owned();
        self.check_reference("HEAD")?;
        let mut found = Vec::new();
        for reference in self.git().references_glob(&format!("{folder}*")).during(doing)? {
            let reference = reference.during(doing)?;
            let name = reference.name().ok().and_then(|name| name.strip_prefix(folder));
            let commit = reference.target().map(|id| CommitId::new(ObjectId::from_git(id)));
            found.extend(name.map(str::to_owned).zip(commit));
        }
        Ok(found)
    }

    /// Returns the objects of all references with that prefix; broken references are skipped.
    pub(crate) fn references_below(&self, prefix: &str) -> Result<Vec<ObjectId>, GitError> {
        let doing = || "list the references".to_owned();
        self.check_reference("HEAD")?;
        let mut objects = Vec::new();
        for reference in self.git().references_glob(&format!("{prefix}*")).during(doing)? {
            let Ok(direct) = reference.during(doing)?.resolve() else { continue };
            objects.extend(direct.target().map(ObjectId::from_git));
        }
        Ok(objects)
    }

    /// Follows tags to a commit.
    fn peeled(&self, mut id: ObjectId) -> Result<Option<CommitId>, GitError> {
        loop {
            let (kind, bytes) = self.reader().any(id)?;
            match kind {
                ObjectKind::Commit => return Ok(Some(CommitId::new(id))),
                ObjectKind::Tag => {
                    let named = bytes.strip_prefix(b"object ").and_then(|rest| rest.get(..40));
                    let named = named.and_then(|name| str::from_utf8(name).ok()?.parse().ok());
                    let Some(named) = named else { return Ok(None) };
                    id = named;
                }
                ObjectKind::Blob | ObjectKind::Tree => return Ok(None),
            }
        }
    }
}
