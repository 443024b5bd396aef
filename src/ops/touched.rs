//! The tasks that a commit touches, with every file of each: none may hide behind another one.

use std::collections::{BTreeMap, HashSet};

use crate::audit::{ChangedFile, CommitId, ObjectId};
use crate::model::TaskId;
use crate::ops::error::OpsError;
use crate::ops::workspace::Workspace;
use crate::store::layout;

/// A version of a file: where it stands, and its content.
pub(in crate::ops) type Version = (String, ObjectId);

/// A task whose files were changed.
#[derive(Debug, Default)]
pub(in crate::ops) struct Touched {
    /// Its files before, as far as they were changed.
    pub before: Vec<Version>,
    /// The same after.
    pub after: Vec<Version>,
}

/// Returns the tasks among the files.
pub(in crate::ops) fn touched(changed: &[ChangedFile]) -> BTreeMap<TaskId, Touched> {
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
pub(in crate::ops) fn doubled(workspace: &Workspace, commit: CommitId) -> Result<Vec<(TaskId, String)>, OpsError> {
    let mut known = HashSet::new();
    let files = workspace.repository.list(commit, "tasks")?.into_iter();
    let tasks = files.filter_map(|file| Some((task_of(&file.path)?, file.path)));
    Ok(tasks.filter(|(id, _)| !known.insert(id.clone())).collect())
}

/// Returns whether the task that a commit names is one of another project of the repository, by the files that it changed, when it
/// changed none of that name in the project of this folder.
pub(super) fn is_of_another_project(folder: &str, changed: &[String], named: &str) -> bool {
    let own = if folder.is_empty() { "tasks/".to_owned() } else { format!("{folder}/tasks/") };
    changed.iter().filter(|path| !path.starts_with(&own)).any(|path| {
        let name = path.rsplit('/').next().and_then(|name| name.strip_suffix(".md"));
        name == Some(named) && path.split('/').any(|part| part == "tasks")
    })
}

fn task_of(path: &str) -> Option<TaskId> {
    let name = path.strip_prefix("tasks/")?.rsplit('/').next()?;
    layout::task_id(name)?.ok()
}
