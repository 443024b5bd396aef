//! Task files that HEAD has, and that are gone from the worktree.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;

use crate::domain::TaskId;
use crate::git::ObjectId;
use crate::health::subject::{Found, Project, Subject};
use crate::project::git_hints::missing;
use crate::project::issue::Issue;
use crate::project::issue::of_left_out;
use crate::project::workspace::Workspace;
use crate::storage::task_files;
use crate::storage::{ProjectPath, layout};
use crate::system::shell::quoted;

/// Active tasks that HEAD has, and no file in the worktree. In the middle of a merge that is git's to tell.
pub(crate) fn check(subject: &Subject<'_>) -> Found {
    let workspace = subject.workspace;
    let Some(Project { committed, .. }) = subject.project().filter(|_| subject.busy.is_none())
    else {
        return Ok(Vec::new());
    };
    let mut issues = Vec::new();
    let mut gone: Vec<(TaskId, ProjectPath)> = committed
        .keys()
        .filter_map(|path| path.parse::<ProjectPath>().ok())
        .filter(|path| !layout::is_archived(path) && is_gone(&path.below(workspace.paths.root())))
        .filter_map(|path| Some((layout::task_id(path.name())?.ok()?, path)))
        .collect();
    if !gone.is_empty() {
        // What was moved stands elsewhere.
        let known = task_files::known_ids(&workspace.paths);
        let moved;
        (moved, gone) = gone.into_iter().partition(|(id, _)| known.binary_search(id).is_ok());
        issues.extend(half_moved(workspace, committed, &moved));
    }
    issues.extend(of_left_out(workspace, &mut gone));
    gone.sort();
    issues.extend(gone.iter().map(|(id, path)| {
        Issue::new("task_missing", format!("the file of {id} is gone: `{path}`"), missing(id, path))
    }));
    Ok(issues)
}

/// A move of which HEAD has the new place, and the old one still: whoever clones it has the task twice.
fn half_moved(
    workspace: &Workspace,
    committed: &HashMap<String, ObjectId>,
    moved: &[(TaskId, ProjectPath)],
) -> Vec<Issue> {
    let names: HashSet<&str> = moved.iter().map(|(_, path)| path.name()).collect();
    let elsewhere = committed.keys().filter_map(|path| path.parse::<ProjectPath>().ok());
    let elsewhere = elsewhere.filter(|path| {
        names.contains(path.name()) && !is_gone(&path.below(workspace.paths.root()))
    });
    let arrived: HashSet<String> = elsewhere.map(|path| path.name().to_owned()).collect();
    let mut left: Vec<_> = moved.iter().filter(|(_, path)| arrived.contains(path.name())).collect();
    left.sort();
    let point = |(id, path): &(TaskId, ProjectPath)| {
        Issue::new(
            "task_left_behind",
            format!("HEAD has {id} twice: `{path}`, which is gone here, as well"),
            format!(
                "commit that it is gone: `git rm {0}`, then `git commit`",
                quoted(path.as_str())
            ),
        )
    };
    left.into_iter().map(point).collect()
}

/// Returns whether nothing stands there. Where the system does not let anybody look, that is told as what it is.
pub(crate) fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}
