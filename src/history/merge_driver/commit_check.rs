//! The check of git's `pre-commit` and `pre-merge-commit` hooks: a commit must not take entries out of a task's history, as one of an index or a worktree
//! that is out of date does.

use std::collections::BTreeMap;

use crate::domain::{TaskId, Timestamp};
use crate::files::task_file;
use crate::files::task_file::Defaults;
use crate::git::{ChangedFile, CommitId, ObjectId, Repository};
use crate::history::touched_tasks::project_folders;
use crate::project::active_rules::stand_in;
use crate::project::error::ProjectError;
use crate::storage::layout::task_id;

/// A task of a project in a folder of the repository.
type ProjectTask = (String, TaskId);

/// A task whose staged history does not continue the committed one.
struct Broken {
    /// All its files that are staged: one that was moved has two.
    paths: Vec<String>,
    /// Whether entries are only missing: no other side of a merge is a reason for that.
    is_cut: bool,
}

/// Returns the staged files of tasks whose history continues neither HEAD's nor that of a commit that is being merged, by their paths from
/// the top of the repository. New tasks and removed tasks pass, and so does what cannot be read.
pub(crate) fn broken_histories(repository: &Repository) -> Result<Vec<String>, ProjectError> {
    let Some(head) = repository.look()?.commit else { return Ok(Vec::new()) };
    let mut broken = broken_since(repository, head)?;
    let others = if broken.is_empty() { Vec::new() } else { repository.merge_heads() };
    for theirs in others {
        let also = broken_since(repository, theirs)?;
        broken.retain(|task, own| own.is_cut || also.contains_key(task));
    }
    Ok(broken.into_values().flat_map(|own| own.paths).collect())
}

fn broken_since(
    repository: &Repository,
    commit: CommitId,
) -> Result<BTreeMap<ProjectTask, Broken>, ProjectError> {
    let mut tasks: BTreeMap<ProjectTask, Vec<ChangedFile>> = BTreeMap::new();
    for file in repository.about_to_change(commit)? {
        if let Some(task) = task_at(&file.path) {
            tasks.entry(task).or_default().push(file);
        }
    }
    let defaults = Defaults {
        workflow: stand_in()?.project.default_workflow.clone(),
        created: Timestamp::UNIX_EPOCH,
    };
    let mut broken = BTreeMap::new();
    for (task, files) in tasks {
        let history = |content: ObjectId| -> Result<_, ProjectError> {
            let parsed = task_file::parse(&repository.read_blob(content)?, &task.1, &defaults);
            Ok(parsed.ok().map(|file| file.task.history))
        };
        let mut committed = Vec::new();
        for content in files.iter().filter_map(|file| file.before) {
            committed.extend(history(content)?);
        }
        let Some(longest) = committed.into_iter().max_by_key(Vec::len) else { continue };
        for file in &files {
            let Some(content) = file.after else { continue };
            if let Some(staged) = history(content)?.filter(|own| !own.starts_with(&longest)) {
                let is_cut = longest.starts_with(&staged);
                let paths = files.iter().map(|file| file.path.clone()).collect();
                broken.insert(task.clone(), Broken { paths, is_cut });
            }
        }
    }
    Ok(broken)
}

/// Returns the task that a file of the repository is of, with the folder of its project.
fn task_at(path: &str) -> Option<ProjectTask> {
    let id = task_id(path.rsplit_once('/')?.1)?.ok()?;
    Some((project_folders(path).next()?.trim_end_matches('/').to_owned(), id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_file_is_known_by_its_folder_and_name() {
        let task = |path: &str| task_at(path).map(|(folder, id)| format!("{folder}:{id}"));
        assert_eq!(task("tasks/archive/2026/02/16/AOF-abc.md").as_deref(), Some(":AOF-abc"));
        assert_eq!(task("apps/web/tasks/AOF-abc.md").as_deref(), Some("apps/web:AOF-abc"));
        for path in ["AOF-abc.md", "docs/AOF-abc.md", "tasks/AOF-abc.plan.md", "tasks/notes.md"] {
            assert_eq!(task(path), None, "{path}");
        }
    }
}
