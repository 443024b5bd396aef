//! Reading history: commits newest first, all of them or those that touched given paths. Reads no worktree.
//!
//! Two commits are compared at the paths asked for by the names of the objects there, so a walk costs a few tree
//! entries a commit, whatever else the commits changed.

use std::borrow::Cow;
use std::collections::{BinaryHeap, HashMap, HashSet};

use crate::git::attributes::with_lf;
use crate::git::error::GitError;
use crate::git::id::{CommitId, ObjectId};
use crate::git::objects::commit::{Links, LogEntry};
use crate::git::objects::loose::Kind;
use crate::git::objects::tree::Leaf;
use crate::git::repository::handle::Repository;

/// How many changes of a file are looked at to tell an old version of it from a new one.
pub(crate) const LOOK_BACK: usize = 100;

/// Commits, newest first; a commit never comes before one of its children unless a clock was wrong.
pub struct Log<'r> {
    repository: &'r Repository,
    /// Full paths; empty for every commit.
    paths: Vec<String>,
    waiting: BinaryHeap<(i64, std::cmp::Reverse<u64>, CommitId)>,
    seen: HashSet<CommitId>,
    /// What the paths stand for in commits that are still waiting.
    looked: HashMap<CommitId, Vec<Option<Leaf>>>,
    number: u64,
    shallow: bool,
}

impl Repository {
    /// Walks every commit that led to this one.
    pub fn log(&self, from: CommitId) -> Result<Log<'_>, GitError> {
        Log::start(self, from, Vec::new())
    }

    /// Walks the commits that changed one of these files or folders of the project; `""` is the whole project. At a
    /// merge that took a parent's version over, only that parent is followed, as `git log PATH` does.
    pub fn log_of(&self, from: CommitId, paths: &[&str]) -> Result<Log<'_>, GitError> {
        Log::start(self, from, paths.iter().map(|path| self.full_path(path)).collect())
    }

    /// Returns whether one of the newest commits that changed this file of the project has it with that content.
    pub fn has_had(&self, from: CommitId, path: &str, content: ObjectId) -> Result<bool, GitError> {
        for entry in self.log_of(from, &[path])?.take(LOOK_BACK) {
            if self.blob_id(entry?.id, path)? == Some(content) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the same of the bytes of a file in the worktree, where git may have written other line ends.
    pub fn has_had_text(&self, from: CommitId, path: &str, bytes: &[u8]) -> Result<bool, GitError> {
        if self.has_had(from, path, self.hash_blob(bytes))? {
            return Ok(true);
        }
        match with_lf(bytes) {
            Cow::Owned(plain) => self.has_had(from, path, self.hash_blob(&plain)),
            Cow::Borrowed(_) => Ok(false),
        }
    }

    /// Returns the commits that a branch has grown by up to this one, oldest first, as far as history goes here. Of what was merged
    /// in, only the merge counts.
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

    /// Returns whether there is a commit of that name here; one that is damaged is one.
    pub fn has_commit(&self, id: CommitId) -> bool {
        !matches!(
            self.reader().read(Kind::Commit, id.object()),
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
    pub(crate) fn start(
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

    /// Takes commits off until one changed a path that was asked for.
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

    /// A shallow clone ends at commits whose parents it does not have.
    fn parents_in_reach(&self, links: &Links) -> Vec<CommitId> {
        let is_here = |parent: &CommitId| !self.shallow || self.repository.has_commit(*parent);
        links.parents.iter().copied().filter(is_here).collect()
    }

    /// What the paths stand for in a commit with that tree.
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
