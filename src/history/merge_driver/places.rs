//! Which task of which project a path of the repository names.

use std::collections::BTreeSet;

use crate::domain::TaskId;
use crate::files::config::configuration::PROJECT_FILE;
use crate::git::{CommitId, Repository};
use crate::project::error::error::OpsError;
use crate::storage::layout;

/// Returns the folder of the project, and the task. Where several folders of the path are called `tasks`, the project is the
/// one that has rules.
pub(crate) fn task_at(
    top: &Repository,
    head: Option<CommitId>,
    path: &str,
) -> Result<Option<(String, TaskId)>, OpsError> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some(Ok(id)) = layout::task_id(name) else { return Ok(None) };
    let folders: Vec<&str> = path.match_indices("tasks/").map(|(at, _)| &path[..at]).collect();
    let folders: Vec<&str> =
        folders.into_iter().filter(|folder| folder.is_empty() || folder.ends_with('/')).collect();
    for folder in &folders {
        let has_rules = match head {
            Some(head) => top.blob_id(head, &format!("{folder}{PROJECT_FILE}"))?.is_some(),
            None => false,
        };
        if has_rules {
            return Ok(Some(((*folder).to_owned(), id)));
        }
    }
    Ok(folders.first().map(|folder| ((*folder).to_owned(), id)))
}

/// Returns the folders of the projects here whose tasks the next commit has otherwise than HEAD. Reads no history.
pub(crate) fn about_to_change(
    top: &Repository,
    head: CommitId,
) -> Result<BTreeSet<String>, OpsError> {
    let mut folders = BTreeSet::new();
    for path in top.about_to_change(head)? {
        folders.extend(task_at(top, Some(head), &path)?.map(|(folder, _)| folder));
    }
    folders.retain(|folder| top.worktree_root().join(folder).is_dir());
    Ok(folders)
}
