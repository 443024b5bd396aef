//! The workspaces of tasks as people see them: lists them, makes one, shows its changes, and removes those whose work has arrived.

use crate::domain::{AgentId, Task, TaskId, Ticket, Timestamp, WorkFolder};
use crate::git::{Repository, UncommittedChanges};
use crate::project::error::ProjectError;
use crate::project::task_worktrees::{
    SetupFailed, StayReason, TaskWorktree, TaskWorktrees, USUAL_LIMITS, WorkspaceState,
    WorktreeSetup,
};
use crate::project::trust::RulePrograms;
use crate::project::workspace::Workspace;
use crate::rules::Workplace;
use crate::system::crash_points;
use crate::tasks::plan::DryRun;
use crate::tasks::publish::secrets_of;
use crate::tasks::view::task_view::show;

/// A workspace that was to be removed.
pub(crate) struct Pruned {
    pub state: WorkspaceState,
    /// The reason why it stays; `None` if it was removed.
    pub kept: Option<StayReason>,
}

/// Returns the work of all tasks in this clone.
pub(crate) fn list(workspace: &Workspace) -> Result<Vec<WorkspaceState>, ProjectError> {
    worktrees(workspace)?.list(&[], &|id| find(workspace, id))
}

/// Returns the worktrees of the project.
pub(crate) fn worktrees(workspace: &Workspace) -> Result<TaskWorktrees, ProjectError> {
    TaskWorktrees::of(workspace, &workspace.rules()?.rules)
}

/// Returns the folder of a task's worktree, and makes it if it is missing. `printed` receives what its set-up prints.
pub(crate) fn make(
    workspace: &Workspace,
    task: &TaskId,
    is_stopped: &dyn Fn() -> bool,
    printed: &mut dyn FnMut(&[u8]),
) -> Result<TaskWorktree, ProjectError> {
    let rules = workspace.rules()?.rules;
    let (view, _) = show(workspace, task)?;
    let setup = WorktreeSetup {
        task: &view.file.task,
        branch: None,
        programs: &RulePrograms::read(workspace, &rules),
        visit: task.to_string(),
        project: workspace.paths.root(),
        secrets: &secrets_of(&rules),
        limits: USUAL_LIMITS,
        printed: &mut |_, bytes| printed(bytes),
        is_stopped,
    };
    TaskWorktrees::of(workspace, &rules)?.prepare(setup).map_err(SetupFailed::into_error)
}

/// Returns what the work at a task changes, with what is not committed yet; `None` if none has begun here.
pub(crate) fn changes(
    workspace: &Workspace,
    task: &TaskId,
) -> Result<Option<String>, ProjectError> {
    let (view, _) = show(workspace, task)?;
    worktrees(workspace)?.changes(&view.file.task)
}

/// Removes the worktrees and branches of tasks that have ended and whose work has arrived; of all tasks, or of these. `is_forced`: also
/// those of the named tasks that have not, whose work is kept under `refs/aof/salvage/`.
pub(crate) fn prune(
    workspace: &Workspace,
    tasks: &[TaskId],
    is_forced: bool,
    dry_run: DryRun,
) -> Result<Vec<Pruned>, ProjectError> {
    let worktrees = worktrees(workspace)?;
    let mut pruned = Vec::new();
    let find = |id: &TaskId| find(workspace, id);
    let listed = worktrees.list(tasks, &find)?;
    crash_points::point("prune.listed");
    for state in listed {
        let is_kept = match state.kept {
            Some(StayReason::InUse) => true,
            Some(_) => !is_forced,
            None => false,
        };
        let kept = match dry_run {
            _ if is_kept => state.kept.clone(),
            DryRun::No => worktrees.remove(&state.task, &find, is_forced)?,
            DryRun::Yes => None,
        };
        pruned.push(Pruned { state, kept });
    }
    Ok(pruned)
}

/// Removes the worktree of a task that has ended, if its work has arrived.
pub(crate) fn tidy(workspace: &Workspace, task: &TaskId) -> Result<(), ProjectError> {
    if find(workspace, task)?.is_some_and(|task| task.status.is_finished()) {
        prune(workspace, std::slice::from_ref(task), false, DryRun::No)?;
    }
    Ok(())
}

/// Returns a task; `None` if it does not exist.
fn find(workspace: &Workspace, id: &TaskId) -> Result<Option<Task>, ProjectError> {
    match show(workspace, id) {
        Ok((view, _)) => Ok(Some(view.file.task)),
        Err(ProjectError::NoTask { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the uncommitted changes since then in the folder in which the agent's program works at a visit, except task files.
pub(crate) fn left_behind(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: &AgentId,
    since: Timestamp,
) -> Result<UncommittedChanges, ProjectError> {
    let (rules, since) = (workspace.rules()?.rules, since.as_second());
    if rules.has_worktrees()
        && let Some(task) = find(workspace, &ticket.task)?
        && let Some(place) = Workplace::find(&rules, &task, ticket.branch.as_ref())
        && place.work_folder(&rules, &task, agent) == WorkFolder::Worktree
    {
        // Each attempt at a fork's branch begins in a new one.
        if ticket.branch.is_some() {
            return Ok(UncommittedChanges::default());
        }
        let made = TaskWorktrees::of(workspace, &rules)?.worktree_of(&ticket.task)?;
        let Some(made) = made else { return Ok(UncommittedChanges::default()) };
        return Ok(Repository::discover(&made.folder)?.uncommitted_since(since)?);
    }
    if workspace.checkout == workspace.paths.root() {
        return Ok(workspace.repository.uncommitted_since(since)?);
    }
    Ok(Repository::discover(&workspace.checkout)?.uncommitted_since(since)?)
}
