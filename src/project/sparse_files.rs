//! Task files that are not here since git does not look for them: outside of a sparse checkout, or told to pass over them. They are not
//! gone, and git brings them.

use std::collections::{BTreeSet, HashSet};

use super::issue::Issue;
use super::workspace::Workspace;
use crate::domain::TaskId;
use crate::domain::issue::some;
use crate::storage::ProjectPath;
use crate::storage::layout::TASKS;
use crate::system::shell::{all_quoted, quoted};

/// Why a task file that HEAD has is not looked for here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOut {
    /// Its folder is not in the sparse checkout.
    Sparse {
        /// What is to be added to it.
        folder: String,
    },
    /// Git was told to pass over it.
    Marked {
        /// The file.
        path: ProjectPath,
    },
}

impl LeftOut {
    /// Returns how the file comes here.
    pub(crate) fn fix(&self) -> String {
        match self {
            Self::Sparse { folder } => format!("`git sparse-checkout add {}`", quoted(folder)),
            Self::Marked { path } => look_again(&[path.as_str()]),
        }
    }
}

fn look_again(paths: &[&str]) -> String {
    let names = all_quoted(paths.iter().copied());
    format!(
        "git was told to pass over it (`skip-worktree`): `git update-index --no-skip-worktree {names}`, then `git restore {names}`"
    )
}

/// Returns why a file that HEAD has is not here, if it is that.
pub(crate) fn left_out(workspace: &Workspace, path: &ProjectPath) -> Option<LeftOut> {
    let repository = &workspace.repository;
    if repository.left_out_below(path.as_str()).unwrap_or_default().is_empty() {
        return None;
    }
    Some(if repository.is_checked_out_in_part() {
        LeftOut::Sparse {
            folder: if in_tasks(path) { TASKS.to_owned() } else { path.folder().to_owned() },
        }
    } else {
        LeftOut::Marked { path: path.clone() }
    })
}

/// What is in the folder of tasks itself has all of it come, as whoever looks for a task wants it.
fn in_tasks(path: &ProjectPath) -> bool {
    path.folder() == TASKS || path.folder().starts_with(&format!("{TASKS}/archive/"))
}

/// Takes those out of the tasks whose files are gone that git does not look for, and says how all of them come here.
pub(crate) fn of_left_out(
    workspace: &Workspace,
    gone: &mut Vec<(TaskId, ProjectPath)>,
) -> Option<Issue> {
    if gone.is_empty() {
        return None;
    }
    // Where git cannot be asked, whatever cannot do without it says so.
    let left_out: HashSet<String> =
        workspace.repository.left_out_below(TASKS).unwrap_or_default().into_iter().collect();
    let (out, others) =
        std::mem::take(gone).into_iter().partition(|(_, path)| left_out.contains(path.as_str()));
    *gone = others;
    let out: Vec<(TaskId, ProjectPath)> = out;
    let paths: Vec<&str> = out.iter().map(|(_, path)| path.as_str()).collect();
    let (has, files) =
        if out.len() == 1 { ("task has no file", "it") } else { ("tasks have no file", "them") };
    if out.is_empty() {
        return None;
    }
    let count = out.len();
    if !workspace.repository.is_checked_out_in_part() {
        return Some(Issue::new(
            "tasks_left_out",
            format!(
                "{count} {has} here, since git was told to pass over {files}: {}",
                some(&paths)
            ),
            look_again(&paths),
        ));
    }
    let mut folders: BTreeSet<&str> =
        out.iter().map(|(_, path)| if in_tasks(path) { TASKS } else { path.folder() }).collect();
    if folders.contains(TASKS) {
        folders = BTreeSet::from([TASKS]);
    }
    let names = folders.iter().map(|folder| format!("`{folder}/`")).collect::<Vec<_>>().join(", ");
    let is = if folders.len() == 1 { "is" } else { "are" };
    Some(Issue::new(
        "tasks_left_out",
        format!("{names} {is} not in this sparse checkout: {count} {has} here"),
        format!(
            "`git sparse-checkout add {}`; what is dropped for them waits until then",
            all_quoted(folders)
        ),
    ))
}
