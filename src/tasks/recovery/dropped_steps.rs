//! Steps that git dropped from the branch, and that cannot be restored before a person clears the way: only their tasks wait.

use std::collections::BTreeSet;

use crate::domain::project::some;
use crate::git::log::trailers;
use crate::git::{CommitId, DroppedSteps, GitError, Head, LogEntry, ObjectId};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::header_cache::{Hint, WaitingSteps};
use crate::storage::layout::task_id;
use crate::storage::task_files;
use crate::system::terminal::quoted;
use crate::tasks::state::task_state::TaskState;

/// Notes that these steps cannot be restored yet. Returns whether that is new: the tasks must then be read again.
pub(crate) fn note_waiting(workspace: &Workspace, had: CommitId) -> Result<bool, ProjectError> {
    let head = workspace.head_now()?;
    let mut waiting = WaitingSteps::load(&workspace.paths).unwrap_or_default();
    if waiting.had.contains(&had.to_string())
        || !dropped_steps(workspace, &head)?.iter().any(|dropped| dropped.had == had)
    {
        return Ok(false);
    }
    waiting.had.push(had.to_string());
    waiting.save(&workspace.paths)?;
    Ok(true)
}

/// Fails if git dropped steps of this task that are not restored yet: its next step would end a visit twice.
pub(crate) fn ensure_not_dropped(
    workspace: &Workspace,
    state: &TaskState,
) -> Result<(), ProjectError> {
    let waiting = WaitingSteps::load(&workspace.paths).unwrap_or_default();
    if waiting.had.is_empty() {
        return Ok(());
    }
    let dropped = dropped_steps(workspace, &state.head)?;
    let (mut waits, mut of_task) = (false, None);
    for dropped in dropped.iter().filter(|one| waiting.had.contains(&one.had.to_string())) {
        waits = true;
        for (path, after) in workspace.repository.resulting_files(&dropped.steps)? {
            let name = path.rsplit('/').next().unwrap_or(&path);
            if task_id(name).and_then(Result::ok).as_ref() == Some(&state.id)
                && !has_version(workspace, &path, after)
            {
                of_task = of_task.or(Some(dropped));
            }
        }
    }
    if !waits {
        WaitingSteps::default().save(&workspace.paths)?;
    }
    let Some(dropped) = of_task else { return Ok(()) };
    let Issue { problem, fix, .. } = lost_steps_issue(workspace, dropped, &state.head);
    let (id, path) = (state.id.clone(), state.snapshot.path.clone());
    let problem = format!("`{id}` waits: {problem}");
    Err(ProjectError::Frozen { id, path, problem, fields: Vec::new(), thaw: fix.to_string() })
}

/// Returns the steps that must be restored. Steps that the files still have are left out: they are committed again like any edit.
pub(crate) fn dropped_steps(
    workspace: &Workspace,
    head: &Head,
) -> Result<Vec<DroppedSteps>, ProjectError> {
    let mut lost = Vec::new();
    for dropped in workspace.repository.dropped_steps(head)? {
        if !is_unmoved(&dropped, head) || !files_have(workspace, &dropped)? {
            lost.push(dropped);
        }
    }
    Ok(lost)
}

fn files_have(workspace: &Workspace, dropped: &DroppedSteps) -> Result<bool, ProjectError> {
    let files = workspace.repository.resulting_files(&dropped.steps)?;
    Ok(files.iter().all(|(path, after)| has_version(workspace, path, *after)))
}

fn has_version(workspace: &Workspace, path: &str, version: Option<ObjectId>) -> bool {
    match (worktree_bytes(workspace, path), version) {
        (Some(bytes), Some(version)) => workspace.repository.is_same_text(&bytes, version),
        (bytes, version) => bytes.is_none() && version.is_none(),
    }
}

/// Returns the content of a file in the worktree; `None` if it cannot be read.
pub(crate) fn worktree_bytes(workspace: &Workspace, path: &str) -> Option<Vec<u8>> {
    Some(task_files::read(&workspace.paths, &path.parse().ok()?).ok()?.bytes)
}

/// Describes dropped steps, with the command that restores them.
pub(crate) fn lost_steps_issue(
    workspace: &Workspace,
    dropped: &DroppedSteps,
    head: &Head,
) -> Issue {
    let names: Vec<String> = tasks_of(&dropped.steps);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let count = dropped.steps.len();
    let steps = if count == 1 { "1 step".to_owned() } else { format!("{count} steps") };
    let short = |commit: CommitId| commit.to_string()[..12].to_owned();
    let how = if is_unmoved(dropped, head) { "merge --ff-only" } else { "merge" };
    let mut fix = format!("`git {how} {}`; `aof doctor --fix` does it", short(dropped.had));
    if dropped.partial {
        // A merge would apply the cherry-picked steps a second time.
        let commits: Vec<String> = dropped.steps.iter().map(|step| short(step.id)).collect();
        fix = format!("`git cherry-pick {}`", commits.join(" "));
    }
    // Later commits of other files do not matter here.
    let before = Head { commit: Some(dropped.has), ..head.clone() };
    let repository = &workspace.repository;
    let is_comparable = repository.resulting_files(&dropped.steps).is_ok_and(|files| {
        let version = |commit, path: &str| repository.blob_id(commit, path).ok();
        files.iter().all(|(path, _)| {
            head.commit.and_then(|head| version(head, path)) == version(dropped.has, path)
        })
    });
    let obstacle = match repository.check_fast_forward(&before, dropped.had) {
        Err(GitError::WouldOverwrite { files }) => {
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            Some(format!("put aside what you changed in {} (`git stash`)", some(&files)))
        }
        Err(GitError::Unmerged { path }) => {
            let named = quoted(&path);
            // Git merges nothing while its index differs from HEAD.
            "`aof doctor --fix` puts it back".clone_into(&mut fix);
            Some(format!("resolve the merge conflict in `{path}`, and `git add {named}`"))
        }
        Err(GitError::CheckoutFailed { detail }) if is_comparable => Some(detail),
        _ => None,
    };
    let fix = obstacle.map_or(fix.clone(), |obstacle| format!("{obstacle}; then {fix}"));
    let problem =
        format!("git was overtaken and moved the branch back over {steps}: {}", some(&names));
    Issue::new("taken_back", problem, fix)
}

/// Returns whether the branch is still at the commit that git moved it to.
pub(crate) fn is_unmoved(dropped: &DroppedSteps, head: &Head) -> bool {
    head.commit == Some(dropped.has)
}

pub(crate) fn tasks_of(steps: &[LogEntry]) -> Vec<String> {
    let all = steps.iter().flat_map(|step| trailers::parse(&step.message));
    let named = all.filter(|one| one.key() == "Aof-Task").map(|one| one.value().to_owned());
    named.collect::<BTreeSet<_>>().into_iter().collect()
}
