//! The tasks that a commit touches, with every file of each: none may hide behind another one.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::domain::TaskId;
use crate::files::config::configuration::PROJECT_FILE;
use crate::git::{ChangedFile, CommitId, LogEntry, ObjectId, Repository};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::layout;

/// A version of a file: where it stands, and its content.
pub(crate) type FileVersion = (String, ObjectId);

/// A task whose files were changed.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// Its files before, as far as they were changed.
    pub before: Vec<FileVersion>,
    /// The same after.
    pub after: Vec<FileVersion>,
}

impl Touched {
    /// Takes in what stands in a commit that has none of the changed files: what went from one place may stand in another.
    pub(crate) fn take_in(&mut self, left: &[FileVersion]) {
        self.before.extend_from_slice(left);
        self.after.extend_from_slice(left);
    }
}

/// Returns the tasks among the files.
pub(crate) fn touched(changed: &[ChangedFile]) -> BTreeMap<TaskId, Touched> {
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
pub(crate) fn doubled(
    workspace: &Workspace,
    commit: CommitId,
) -> Result<Vec<(TaskId, String)>, ProjectError> {
    let mut known = HashSet::new();
    let files = workspace.repository.list(commit, "tasks")?.into_iter();
    let tasks = files.filter_map(|file| Some((task_of(&file.path)?, file.path)));
    Ok(tasks.filter(|(id, _)| !known.insert(id.clone())).collect())
}

/// The files of all tasks in a commit. A commit may take thousands away, and where each of them still stands is asked of each: the tree
/// is listed once for them all.
#[derive(Default)]
pub(crate) struct KnownFiles(Option<(CommitId, HashMap<TaskId, Vec<FileVersion>>)>);

impl KnownFiles {
    /// Returns the files of a task in a commit.
    pub(crate) fn of(
        &mut self,
        repository: &Repository,
        commit: CommitId,
        id: &TaskId,
    ) -> Result<&[FileVersion], ProjectError> {
        if self.0.as_ref().is_none_or(|(known, _)| *known != commit) {
            let mut files: HashMap<TaskId, Vec<FileVersion>> = HashMap::new();
            for file in repository.list(commit, layout::TASKS)? {
                if let Some(id) = task_of(&file.path) {
                    files.entry(id).or_default().push((file.path, file.id));
                }
            }
            self.0 = Some((commit, files));
        }
        let found = self.0.as_ref().and_then(|(_, files)| files.get(id));
        Ok(found.map_or(&[], Vec::as_slice))
    }
}

/// Returns the files of a task in a commit.
fn files_of(
    repository: &Repository,
    commit: CommitId,
    id: &TaskId,
) -> Result<Vec<FileVersion>, ProjectError> {
    let files = repository.list(commit, layout::TASKS)?.into_iter();
    Ok(files
        .filter(|file| task_of(&file.path).as_ref() == Some(id))
        .map(|file| (file.path, file.id))
        .collect())
}

/// Returns the commit in which a task came to have a second file, looked for from one in which it has several.
pub(crate) fn doubled_by(
    repository: &Repository,
    id: &TaskId,
    until: CommitId,
) -> Result<CommitId, ProjectError> {
    let mut at = until;
    loop {
        let files = files_of(repository, at, id)?;
        let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
        let Some(entry) = repository.log_of(at, &paths)?.next().transpose()? else { return Ok(at) };
        let mut before = None;
        for parent in entry.parents.iter().filter(|parent| repository.has_commit(**parent)) {
            if files_of(repository, *parent, id)?.len() > 1 {
                before = Some(*parent);
            }
        }
        let Some(before) = before else { return Ok(entry.id) };
        at = before;
    }
}

/// Returns whether the task that a commit names is one of another project of the repository, by the files that it changed, when it
/// changed none of that name in the project of this folder. A folder without rules is no project.
pub(crate) fn is_of_another_project(
    repository: &Repository,
    entry: &LogEntry,
    named: &str,
) -> Result<bool, ProjectError> {
    let folder = repository.prefix();
    let own = if folder.is_empty() { "tasks/".to_owned() } else { format!("{folder}/tasks/") };
    for path in repository.changed_anywhere(entry.id)?.iter().filter(|path| !path.starts_with(&own))
    {
        if path.rsplit('/').next().and_then(|name| name.strip_suffix(".md")) != Some(named) {
            continue;
        }
        for above in project_folders(path) {
            let rules = format!("{above}{PROJECT_FILE}");
            let parents = entry.parents.iter().filter(|parent| repository.has_commit(**parent));
            for commit in [entry.id].iter().chain(parents) {
                if repository.has_anywhere(*commit, &rules)? {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// Returns the folders that may be the project of a file below `tasks/`, the outermost first: empty for the top, else with a slash.
pub(crate) fn project_folders(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    let above = path.match_indices("tasks/").map(|(at, _)| &path[..at]);
    above.collect::<Vec<_>>().into_iter().filter(|above| above.is_empty() || above.ends_with('/'))
}

fn task_of(path: &str) -> Option<TaskId> {
    let name = path.strip_prefix("tasks/")?.rsplit('/').next()?;
    layout::task_id(name)?.ok()
}
