//! Task files that HEAD has, and that are gone from the worktree.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;

use crate::domain::TaskId;
use crate::domain::issue::Attention;
use crate::git::ObjectId;
use crate::project::git_hints::missing;
use crate::project::sparse_files::of_left_out;
use crate::project::workspace::Workspace;
use crate::storage::tasks::task_files;
use crate::storage::{ProjectPath, layout};
use crate::system::shell::quoted;

/// Active tasks that HEAD has, and no file in the worktree.
pub(crate) fn missing_files(
    workspace: &Workspace,
    committed: &HashMap<String, ObjectId>,
    attention: &mut Vec<Attention>,
) {
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
        attention.extend(half_moved(workspace, committed, &moved));
    }
    attention.extend(of_left_out(workspace, &mut gone));
    gone.sort();
    attention.extend(gone.iter().map(|(id, path)| Attention {
        code: "task_missing",
        problem: format!("the file of {id} is gone: `{path}`"),
        fix: missing(id, path),
    }));
}

/// A move of which HEAD has the new place, and the old one still: whoever clones it has the task twice.
fn half_moved(
    workspace: &Workspace,
    committed: &HashMap<String, ObjectId>,
    moved: &[(TaskId, ProjectPath)],
) -> Vec<Attention> {
    let names: HashSet<&str> = moved.iter().map(|(_, path)| path.name()).collect();
    let elsewhere = committed.keys().filter_map(|path| path.parse::<ProjectPath>().ok());
    let elsewhere = elsewhere.filter(|path| {
        names.contains(path.name()) && !is_gone(&path.below(workspace.paths.root()))
    });
    let arrived: HashSet<String> = elsewhere.map(|path| path.name().to_owned()).collect();
    let mut left: Vec<_> = moved.iter().filter(|(_, path)| arrived.contains(path.name())).collect();
    left.sort();
    let point = |(id, path): &(TaskId, ProjectPath)| Attention {
        code: "task_left_behind",
        problem: format!("HEAD has {id} twice: `{path}`, which is gone here, as well"),
        fix: format!(
            "commit that it is gone: `git rm {0}`, then `git commit`",
            quoted(path.as_str())
        ),
    };
    left.into_iter().map(point).collect()
}

/// Returns whether nothing stands there. Where the system does not let anybody look, that is told as what it is.
pub(crate) fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}
