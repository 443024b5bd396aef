//! The branch of a task's work, as a completion records it.

use crate::domain::{Completion, Ending, GateId, Outcome, Task, WorkBranch, WorkFolder};
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::project::task_worktrees::{TaskWorktrees, UNSETTLED};
use crate::project::workspace::{Workspace, agent_author};
use crate::rules::{Rules, Workplace, branch_of};
use crate::tasks::plan::DryRun;
use crate::tasks::publish::secrets_of;
use crate::tasks::state::task_state::TaskState;

/// Looks up the branch of the task's work for a completion, and commits before what its agent left in its worktree. Fails with
/// [`UNSETTLED`] if that must not be committed.
pub(super) fn note_work(
    workspace: &Workspace,
    completion: &mut Completion,
    dry_run: DryRun,
) -> Result<(), ProjectError> {
    let rules = &in_force(workspace, &workspace.repository.head_for_reading()?)?.rules;
    if !rules.has_worktrees() {
        return Ok(());
    }
    // The step itself reports what is wrong with the task.
    let Ok(state) = TaskState::read(workspace, &completion.ticket.task) else { return Ok(()) };
    let task = &state.file.task;
    let open = task.gate.as_ref().map(|open| open.visit);
    if completion.ticket.visit.is_some_and(|visit| Some(visit) != open) {
        return Ok(());
    }
    let branch = completion.ticket.branch.clone();
    let branch = branch.or_else(|| branch_of(rules, task, &completion.agent));
    let worktrees = TaskWorktrees::of(workspace, rules)?;
    if dry_run == DryRun::No && is_agents_own(rules, task, branch.as_ref(), completion) {
        let author = agent_author(&rules.org, &completion.agent)?;
        let station = task.gate.as_ref().map(|open| open.current.clone());
        let station = station.map(|gate| crate::domain::Station { gate, branch: None });
        let settled = station
            .map(|station| worktrees.settle(&task.id, (&author, &station), &secrets_of(rules)));
        let says = completion.content.outcome.as_deref();
        // Whoever cannot go on cannot tidy up either; the files stay where they are.
        let gives_up = [Outcome::Blocked, Outcome::Failed]
            .iter()
            .any(|outcome| says == Some(&Ending::Completed(outcome.clone()).to_string()));
        match settled.transpose() {
            Err(error) if error.code() != UNSETTLED || !gives_up => return Err(error),
            _ => {}
        }
    }
    completion.facts.work = work_of(&worktrees, task, branch.as_ref())?;
    Ok(())
}

fn work_of(
    worktrees: &TaskWorktrees,
    task: &Task,
    branch: Option<&GateId>,
) -> Result<Option<Box<WorkBranch>>, ProjectError> {
    Ok(worktrees.work_of(task, branch)?.map(Box::new))
}

/// Returns whether the sender holds the visit, and works at it in the task's worktree.
fn is_agents_own(
    rules: &Rules,
    task: &Task,
    branch: Option<&GateId>,
    completion: &Completion,
) -> bool {
    let agent = &completion.agent;
    branch.is_none()
        && Workplace::find(rules, task, None).is_some_and(|place| {
            place.holder == Some(agent)
                && place.work_folder(rules, task, agent) == WorkFolder::Worktree
        })
}
