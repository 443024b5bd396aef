//! The task files of a commit, by the ids in their names: no rename detection. And where the file of a merged task belongs.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{TaskId, Timestamp};
use crate::files::task_file;
use crate::files::task_file::Defaults;
use crate::git::{CommitId, ObjectId};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::storage::ProjectPath;
use crate::storage::layout::{archive_path, is_archived, task_id, task_path};

/// The files below `tasks/` of one commit.
pub(crate) struct CommitTasks {
    /// Each with its content.
    pub files: BTreeMap<String, ObjectId>,
    tasks: BTreeMap<TaskId, String>,
    twice: BTreeSet<TaskId>,
}

/// The file of a task in one commit.
pub(crate) type CommittedFile<'t> = Option<(&'t str, ObjectId)>;

impl CommitTasks {
    pub(crate) fn of(workspace: &Workspace, commit: CommitId) -> Result<Self, ProjectError> {
        let files = workspace.repository.list(commit, "tasks")?.into_iter();
        let files: BTreeMap<String, ObjectId> = files.map(|file| (file.path, file.id)).collect();
        let (mut tasks, mut twice) = (BTreeMap::new(), BTreeSet::new());
        for (id, path) in files.keys().filter_map(|path| Some((id_of(path)?, path))) {
            if tasks.insert(id.clone(), path.clone()).is_some() {
                twice.insert(id);
            }
        }
        Ok(Self { files, tasks, twice })
    }

    /// Returns the tasks, in the order of their ids.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &TaskId> {
        self.tasks.keys()
    }

    /// Returns whether there are two files of that task.
    pub(crate) fn is_twice(&self, id: &TaskId) -> bool {
        self.twice.contains(id)
    }

    /// Returns the file of a task.
    pub(crate) fn place(&self, id: &TaskId) -> CommittedFile<'_> {
        let path = self.tasks.get(id)?;
        Some((path, *self.files.get(path)?))
    }

    /// Returns the paths at which two commits differ.
    pub(crate) fn changed<'t>(&'t self, later: &'t Self) -> impl Iterator<Item = &'t str> {
        let gone = self.files.iter().filter(|(path, id)| later.files.get(*path) != Some(id));
        let come = later.files.keys().filter(|path| !self.files.contains_key(*path));
        gone.map(|(path, _)| path.as_str()).chain(come.map(String::as_str))
    }
}

/// Returns the task that a file is of, by its name.
pub(crate) fn id_of(path: &str) -> Option<TaskId> {
    task_id(path.rsplit('/').next()?)?.ok()
}

/// Returns where the file of a merged task belongs: with the finished tasks or the others, where either side has it, ours first. While
/// markers keep the file from being read, it is as finished as the side that is further.
pub(crate) fn place_of(
    rules: &Rules,
    id: &TaskId,
    base: Option<&str>,
    (ours, theirs): (&str, &str),
    bytes: &[u8],
) -> Result<String, ProjectError> {
    let project = &rules.project;
    let defaults =
        Defaults { workflow: project.default_workflow.clone(), created: Timestamp::UNIX_EPOCH };
    let archived = |path: &str| Ok::<_, ProjectError>(is_archived(&path.parse::<ProjectPath>()?));
    let Ok(file) = task_file::parse(bytes, id, &defaults) else {
        let is_further = archived(theirs)? && !archived(ours)?;
        return Ok(if is_further { theirs } else { ours }.to_owned());
    };
    let finished = file.task.status.is_finished();
    let moved_there = Some(ours) == base && Some(theirs) != base;
    for path in if moved_there { [theirs, ours] } else { [ours, theirs] } {
        if archived(path)? == finished {
            return Ok(path.to_owned());
        }
    }
    let place =
        if finished { archive_path(id, file.task.latest()) } else { task_path(id, project.layout) };
    Ok(place.to_string())
}
