//! The tasks that a commit touches, with every file of each: none may hide behind another one.

use std::collections::{BTreeMap, HashSet};

use crate::audit::{ChangedFile, CommitId, ObjectId};
use crate::model::TaskId;
use crate::ops::error::OpsError;
use crate::ops::workspace::Workspace;
use crate::store::layout;

/// A version of a file: where it stands, and its content.
pub(super) type Version = (String, ObjectId);

/// A task whose files were changed.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// Its files before, as far as they were changed.
    pub before: Vec<Version>,
    /// The same after.
    pub after: Vec<Version>,
}

/// Returns the tasks among the files.
pub(super) fn touched(changed: &[ChangedFile]) -> BTreeMap<TaskId, Touched> {
    let mut tasks: BTreeMap<TaskId, Touched> = BTreeMap::new();
    for file in changed {
        if let Some(id) = task_of(&file.path) {
            let own = tasks.entry(id).or_default();
            own.before.extend(file.before.map(|content| (file.path.clone(), content)));
            own.after.extend(file.after.map(|content| (file.path.clone(), content)));
        }
    }
    tasks
}

/// Returns the tasks that have more than one file in a commit, each with the files behind the first.
pub(super) fn doubled(workspace: &Workspace, commit: CommitId) -> Result<Vec<(TaskId, String)>, OpsError> {
    let mut known = HashSet::new();
    let files = workspace.repository.list(commit, "tasks")?.into_iter();
    let tasks = files.filter_map(|file| Some((task_of(&file.path)?, file.path)));
    Ok(tasks.filter(|(id, _)| !known.insert(id.clone())).collect())
}

fn task_of(path: &str) -> Option<TaskId> {
    let name = path.strip_prefix("tasks/")?.rsplit('/').next()?;
    layout::task_id(name)?.ok()
}
