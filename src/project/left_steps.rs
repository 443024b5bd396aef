//! Steps of tasks on older branches, after the project has moved to a branch of its own that lacks these steps.

use super::error::ProjectError;
use super::named_branch::{git_in, has_steps_of, newest_step, projects_elsewhere};
use super::workspace::Workspace;
use crate::domain::listed;
use crate::git::{CommitId, Repository};
use crate::storage::layout::{BRANCH, TASKS, task_id};
use crate::system::terminal::quoted;

/// The most tasks that are named.
const MOST_NAMED: usize = 3;

/// Returns the problem and the fix if a branch of the code has tasks that no command reads, or steps that the project's branch lacks.
pub(crate) fn left_steps(workspace: &Workspace) -> Result<Option<(String, String)>, ProjectError> {
    if workspace.checkout == workspace.paths.root() {
        return older_project(&workspace.repository);
    }
    let code = Repository::discover(&workspace.checkout)?;
    let (head, ours) = (code.head_for_reading()?, workspace.repository.head_for_reading()?);
    let (Some(commit), Some(tip)) = (head.commit, ours.commit) else { return Ok(None) };
    let tasks = task_ids(&code, commit)?;
    if tasks.is_empty() || git_in(&code, commit).and_then(|git| git.branch).is_none() {
        return Ok(None);
    }
    let (branch, here) = (ours.branch(), head.branch());
    let first = listed(tasks.iter().take(MOST_NAMED));
    let more = match tasks.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let problem = format!(
        "`{TASKS}/` on `{here}` has {first}{more}, and no command reads it there: the tasks are on `{branch}`"
    );
    let merge = match newest_step(&code, commit)? {
        Some(newest) if !code.is_ancestor(newest, tip)? => {
            format!("`git -C {BRANCH} merge {newest:.7}` brings the steps of these tasks; then ")
        }
        _ => String::new(),
    };
    Ok(Some((problem, format!("{merge}delete the folder on `{here}`, and commit that"))))
}

/// Returns the same for a branch that still has the project as it was before it moved.
fn older_project(repository: &Repository) -> Result<Option<(String, String)>, ProjectError> {
    let head = repository.head_for_reading()?;
    let Some(commit) = head.commit else { return Ok(None) };
    for (branch, tip, is_here) in projects_elsewhere(repository, &head)? {
        // Another project of the repository shares no tasks with this one.
        let bases = repository.merge_bases(commit, tip)?;
        let Some(base) = bases.first() else { continue };
        if task_ids(repository, *base)?.is_empty() || has_steps_of(repository, tip, commit)? {
            continue;
        }
        let here = head.branch();
        let problem = format!(
            "the project has moved to the branch `{branch}`, which lacks steps of `{here}`"
        );
        let here = quoted(here);
        let bring = if is_here {
            format!("`git -C {BRANCH} merge {here}` brings them")
        } else {
            format!("merge `{here}` into `{branch}`")
        };
        let fix = format!(
            "{bring}; then merge the branch of the code that names `{branch}` in its project.yaml"
        );
        return Ok(Some((problem, fix)));
    }
    Ok(None)
}

/// Returns the ids of the tasks in a commit, in order.
fn task_ids(repository: &Repository, commit: CommitId) -> Result<Vec<String>, ProjectError> {
    let files = repository.list(commit, TASKS)?;
    let ids = files.iter().filter_map(|file| task_id(file.path.rsplit('/').next()?)?.ok());
    let mut ids: Vec<String> = ids.map(|id| id.to_string()).collect();
    ids.sort();
    Ok(ids)
}
