//! A commit that a person is about to make, and that would take back what a command committed since git read its index, or take a task
//! out of git.

use std::path::Path;

use super::driver::{Open, whole_repository};
use super::places;
use crate::git::StagedFile;
use crate::history::stale_index::Apart;
use crate::project::error::error::OpsError;
use crate::storage::layout::TASKS;

/// Task files, by their paths in the repository.
#[derive(Default)]
pub(crate) struct TakenBack {
    /// Those of which the commit would have an earlier version that nobody staged.
    pub earlier: Vec<String>,
    /// Those of tasks that it would not have at all, though they stand.
    pub out: Vec<String>,
}

/// Returns what the commit would take back. What git itself takes out, as it merges or makes a commit again, is its own to tell.
pub(crate) fn would_take_back(open: Open<'_>, here: &Path) -> Result<TakenBack, OpsError> {
    let repository = &whole_repository(here)?;
    let mut taken_back = TakenBack::default();
    let Some(head) = repository.look()?.commit else { return Ok(taken_back) };
    for folder in places::about_to_change(repository, head)? {
        let workspace = open(&repository.worktree_root().join(&folder))?;
        let files = workspace.repository.to_be_committed_below(TASKS)?;
        let Apart { behind, taken_out, .. } = Apart::judge(&workspace, head, files)?;
        let full = |file: StagedFile| format!("{folder}{}", file.path);
        taken_back.earlier.extend(behind.into_iter().map(full));
        if workspace.underway().is_none() {
            taken_back.out.extend(taken_out.into_iter().map(full));
        }
    }
    Ok(taken_back)
}
