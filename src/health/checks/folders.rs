//! Folders of tasks that have grown too large: git writes the whole listing of a folder anew with each commit in it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::{Layout, TaskId};
use crate::health::subject::{Found, Subject, count};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::layout::{TASKS, task_path};
use crate::storage::task_files::WalkEntry;
use crate::storage::task_files::walk_active;
use crate::tasks::apply::change_all;
use crate::tasks::plan::Choice;
use crate::tasks::state::commit_message;

/// The listing of so many tasks is about as large as everything else that a transition adds to `.git`.
const LARGE: usize = 1_000;

/// How long each batch waits for the lock.
const WAIT: Duration = Duration::from_secs(10);

pub(crate) fn check(subject: &Subject<'_>) -> Found {
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    for entry in walk_active(&subject.workspace.paths) {
        if let WalkEntry::Task(entry) = entry {
            *folders.entry(entry.path.folder().to_owned()).or_default() += 1;
        }
    }
    let layout = subject.project().map(|project| project.in_force.rules.project.layout);
    let large = folders.into_iter().filter(|(_, tasks)| *tasks > LARGE);
    let issues = large.map(|(folder, tasks)| {
        let tasks = count(tasks, "active task", "active tasks");
        let issue = |fix: &str| {
            Issue::new("folder_large", format!("`{folder}` has {tasks}"), fix).advice()
        };
        match layout {
            Some(Layout::Sharded) if folder == TASKS => {
                issue("`aof doctor --fix` moves them to `tasks/ab/`, where new ones go").cured_by(shard)
            }
            _ if folder == TASKS => issue(
                "write `tasks: {layout: sharded}` into project.yaml and commit it; then `aof doctor --fix` moves them",
            ),
            _ => issue("spread them over several folders: `git mv` is enough, a task may stand anywhere below `tasks/`"),
        }
    });
    Ok(issues.collect())
}

/// Moves the tasks that stand flat to where new ones go, each in a commit of its own.
fn shard(workspace: &mut Workspace) -> Result<(), ProjectError> {
    let flat: Vec<TaskId> = walk_active(&workspace.paths)
        .filter_map(|entry| match entry {
            WalkEntry::Task(entry) if entry.path.folder() == TASKS => Some(entry.id),
            _ => None,
        })
        .collect();
    change_all(workspace, WAIT, &flat, &|task| {
        let to = task_path(&task.id, Layout::Sharded);
        if task.snapshot.path.folder() != TASKS {
            return Ok(Choice::Settled);
        }
        let message =
            commit_message::of_edit(&task.file.task, &format!("moved to {}", to.folder()));
        Ok(Choice::Moved { to, message })
    })
}
