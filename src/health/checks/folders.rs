//! Folders of tasks that have grown too large: git writes the whole listing of a folder anew with each commit in it.

use std::collections::BTreeMap;

use super::task_files::change_in_batches;
use crate::domain::Layout;
use crate::health::subject::{Found, Subject, count};
use crate::project::error::error::OpsError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::layout::{TASKS, task_path};
use crate::storage::tasks::task_files::walk_active;
use crate::storage::tasks::walk::WalkEntry;
use crate::tasks::apply::change::Choice;
use crate::tasks::state::commit_message;

/// The listing of so many tasks is about as large as everything else that a transition adds to `.git`.
const LARGE: usize = 1_000;

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
fn shard(workspace: &mut Workspace) -> Result<(), OpsError> {
    let flat = walk_active(&workspace.paths).filter_map(|entry| match entry {
        WalkEntry::Task(entry) if entry.path.folder() == TASKS => Some(entry.id),
        _ => None,
    });
    change_in_batches(workspace, &flat.collect::<Vec<_>>(), &|standing| {
        if standing.snapshot.path.folder() != TASKS {
            return Choice::Settled;
        }
        let to = task_path(&standing.id, Layout::Sharded);
        let moved = format!("moved to {}", to.folder());
        Choice::Moved { message: commit_message::of_edit(&standing.file.task, &moved), to }
    })
}
