//! What stands in a folder that a branch is to be checked out in, as far as git's files tell. Looks only, and changes nothing.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::worktrees::{Stage, branch_of, folder_of, is_same, stage};
use crate::git::error::{At, GitError};
use crate::git::repository::handle::Repository;
use crate::git::repository::open::link_of;

/// What has a folder already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occupant {
    /// A worktree that `add_worktree` began. Nobody has worked in it as in a whole one.
    Begun,
    /// A worktree that a git began that somebody else started.
    BegunElsewise,
    /// A worktree of this repository with that branch.
    Branch(String),
    /// A worktree of this repository without a branch.
    Detached,
    /// A worktree of this repository that was moved, or the repository was: neither finds the other.
    Moved,
    /// A worktree of this repository whose `.git` is gone.
    Unlinked,
    /// A worktree of this repository that git has forgotten: what it knew of it is gone.
    Forgotten(PathBuf),
    /// A worktree of another repository, or of one that is gone: where that should be.
    Foreign(PathBuf),
    /// What is no worktree: files, or a repository.
    Files,
}

impl Repository {
    /// Returns what has the folder, of which the path must be real; nothing where it is missing or empty.
    pub fn occupant(&self, folder: &Path) -> Result<Option<Occupant>, GitError> {
        let records = self.records();
        let mut its =
            records.iter().filter(|record| folder_of(record).is_some_and(|other| other == folder));
        let link = link_of(folder);
        let is_linked = |record: &Path| link.as_deref().is_none_or(|link| is_same(link, record));
        // Without a link git has only just begun, or there is one record that the folder can belong to.
        match its
            .clone()
            .filter(|record| is_linked(record))
            .map(|record| stage(record))
            .find(|s| *s != Stage::Whole)
        {
            Some(Stage::Begun) => return Ok(Some(Occupant::Begun)),
            Some(_) => return Ok(Some(Occupant::BegunElsewise)),
            None => {}
        }
        let Some(link) = link else {
            return Ok(match (is_empty(folder)?, its.next()) {
                (true, _) => None,
                (false, Some(_)) if !folder.join(".git").exists() => Some(Occupant::Unlinked),
                (false, _) => Some(Occupant::Files),
            });
        };
        if let Some(record) = its.find(|record| is_same(&link, record)) {
            return Ok(Some(branch_of(record).map_or(Occupant::Detached, Occupant::Branch)));
        }
        // Git's own way to mend it would take the folder away from whoever else has it.
        let named = link.file_name().map(|name| self.common_dir().join("worktrees").join(name));
        let is_lost = |record: &PathBuf| folder_of(record).is_some_and(|other| !other.exists());
        let is_ours = |record: &PathBuf| !link.exists() || is_same(&link, record);
        let is_record_here = || {
            link.parent().is_some_and(|place| is_same(place, &self.common_dir().join("worktrees")))
        };
        Ok(Some(match named.filter(|record| is_lost(record) && is_ours(record)) {
            Some(_) => Occupant::Moved,
            // With the last of its records, git removes the folder of them.
            None if !link.exists() && (is_record_here() || link.starts_with(self.common_dir())) => {
                Occupant::Forgotten(link)
            }
            None => Occupant::Foreign(link),
        }))
    }
}

fn is_empty(folder: &Path) -> Result<bool, GitError> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error).at("read", folder),
    }
}
