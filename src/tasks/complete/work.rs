//! The branch of a task's work, as a completion records it.

use crate::domain::{Completion, Outcome, WorkFolder};
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::project::task_worktrees::{TaskWorktrees, UNSETTLED};
use crate::project::workspace::{Workspace, agent_author};
use crate::rules::{Workplace, branch_of};
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
    let agent = &completion.agent;
    // The sender holds the visit, and works at it in the task's worktree.
    let place = Workplace::find(rules, task, None).filter(|place| {
        branch.is_none()
            && place.holder == Some(agent)
            && place.work_folder(rules, task, agent) == WorkFolder::Worktree
    });
    if let Some(place) = place.filter(|_| dry_run == DryRun::No) {
        let author = agent_author(&rules.org, agent)?;
        let settled = worktrees.settle(&task.id, (&author, &place.station()), &secrets_of(rules));
        let says = completion.content.outcome.as_deref().and_then(|says| says.parse().ok());
        // Whoever cannot go on cannot tidy up either; the files stay where they are.
        let gives_up = matches!(says, Some(Outcome::Blocked | Outcome::Failed));
        match settled {
            Err(error) if error.code() != UNSETTLED || !gives_up => return Err(error),
            _ => {}
        }
    }
    completion.facts.work = worktrees.work_of(task, branch.as_ref())?.map(Box::new);
    Ok(())
}
