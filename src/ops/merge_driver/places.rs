//! Which task of which project a path of the repository names.

use crate::audit::{CommitId, Repository};
use crate::format::config::PROJECT_FILE;
use crate::model::TaskId;
use crate::ops::error::OpsError;
use crate::store::layout;

/// Returns the folder of the project, and the task. Where several folders of the path are called `tasks`, the project is the
/// one that has rules.
pub(super) fn task_at(
    top: &Repository,
    head: Option<CommitId>,
    path: &str,
) -> Result<Option<(String, TaskId)>, OpsError> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some(Ok(id)) = layout::task_id(name) else { return Ok(None) };
    let folders: Vec<&str> = path.match_indices("tasks/").map(|(at, _)| &path[..at]).collect();
    let folders: Vec<&str> = folders.into_iter().filter(|folder| folder.is_empty() || folder.ends_with('/')).collect();
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
