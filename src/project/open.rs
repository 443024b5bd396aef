//! Opening the project around a folder, also one that lives on a branch of its own.

use std::path::Path;
use std::time::Duration;

use super::aside::{Clock, Tell};
use super::branch::{Elsewhere, follow_branch, worktree_beside};
use super::branch_checkout::Patience;
use super::error::ProjectError;
use super::git_hints::GitWords;
use super::workspace::Workspace;
use crate::git::{GitError, Repository};
use crate::storage::{Paths, StoreError};

impl Workspace {
    /// Opens the project around a folder. `tell` is told, once, what a wait is for, and what is to be known besides.
    pub fn open(
        start: &Path,
        command: String,
        clock: Clock,
        wait: Duration,
        tell: Tell,
    ) -> Result<Self, ProjectError> {
        let paths = Paths::find(start).or_else(|fault| match worktree_beside(start) {
            Some(beside) => Ok(Paths::at(beside)),
            None => Err(no_project(start, fault)),
        })?;
        let root = paths.root();
        let repository = Repository::discover(root)?;
        let patience = Patience::new(command.clone(), clock(), wait, tell);
        match follow_branch(root, &repository, &patience)? {
            None => Ok(Self::of_files(root, repository, command, clock, wait, tell)),
            Some(Elsewhere { root: place, unheeded }) => {
                let workspace = Self::at(&place, command, clock, patience.left(), tell)?;
                workspace.paths.hide_branch();
                // Whoever named a folder may stand in another one.
                let here = (start == Path::new(".")).then(|| start.canonicalize().ok()).flatten();
                let near = here.as_deref().and_then(|here| place.strip_prefix(here).ok());
                let git_words = GitWords::in_folder(near.unwrap_or(&place));
                Ok(workspace.checked_out_for(root, unheeded, git_words))
            }
        }
    }
}

/// A bare repository has no project to be found: that is not for want of one.
fn no_project(start: &Path, fault: StoreError) -> ProjectError {
    match Repository::discover(start) {
        Err(bare @ GitError::Bare { .. }) => bare.into(),
        _ => fault.into(),
    }
}
