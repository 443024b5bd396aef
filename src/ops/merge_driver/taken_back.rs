//! A commit that a person is about to make, and that would take back what a command committed since git read its index.

use std::path::Path;

use super::{Open, places, whole_repository};
use crate::ops::error::OpsError;
use crate::ops::index_behind::Apart;
use crate::store::layout::TASKS;

/// Returns the task files, by their paths in the repository, of which the commit would have an earlier version that nobody staged.
pub fn would_take_back(open: Open<'_>, here: &Path) -> Result<Vec<String>, OpsError> {
    let repository = &whole_repository(here)?;
    let Some(head) = repository.look()?.commit else { return Ok(Vec::new()) };
    let mut paths = Vec::new();
    for folder in places::about_to_change(repository, head)? {
        let workspace = open(&repository.worktree_root().join(&folder))?;
        let files = workspace.repository.to_be_committed_below(TASKS)?;
        let behind = Apart::judge(&workspace, head, files)?.behind;
        paths.extend(behind.into_iter().map(|file| format!("{folder}{}", file.path)));
    }
    Ok(paths)
}
