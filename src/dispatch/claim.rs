//! Claims and assignments of one task, or of a branch of it. In a synced project the remote has to confirm them.

use super::synced_claims::{confirm, confirm_or, is_of_the_task, is_shared_now, sync_first};
use super::workplaces::openings;
use crate::domain::{AgentId, Ticket};
use crate::git::CommitId;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::actions::{assign as assign_here, choose_claim, release};
use crate::tasks::apply::change;
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::state::task_state::TaskState;

/// Claims the task for an agent that wants any task. Returns nothing where this one cannot be had, and fails with
/// [`ProjectError::Restless`] where the branch is not at `seen` any more.
pub(crate) fn try_claim(
    workspace: &Workspace,
    seen: Option<CommitId>,
    ticket: &Ticket,
    agent: &AgentId,
    dry_run: DryRun,
) -> Result<Option<Box<Changed>>, ProjectError> {
    let mut moved = false;
    let claimed = change(workspace, &ticket.task, dry_run, &mut |state| {
        moved = seen.is_some() && state.head.commit != seen;
        if moved {
            return Err(ProjectError::Restless { id: ticket.task.clone() });
        }
        choose_claim(workspace, state, ticket, agent)
    });
    let confirmed = claimed.and_then(|changed| {
        if is_shared_now(workspace, dry_run)? {
            confirm(workspace, ticket, agent, &changed)?;
        }
        Ok(changed)
    });
    match confirmed {
        Ok(changed) => Ok(Some(Box::new(changed))),
        Err(error) if !moved && is_of_the_task(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Claims the task, or the branch that the ticket names, for the agent.
pub(crate) fn claim(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: &AgentId,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let is_shared = is_shared_now(workspace, dry_run)?;
    if is_shared {
        sync_first(workspace)?;
    }
    let mut choose = |state: &TaskState| choose_claim(workspace, state, ticket, agent);
    let changed = change(workspace, &ticket.task, dry_run, &mut choose)?;
    if is_shared {
        confirm(workspace, ticket, agent, &changed)?;
    }
    Ok(changed)
}

/// Assigns the task, or the branch that the ticket names, to an agent, whoever has it now.
pub(crate) fn assign(
    workspace: &Workspace,
    ticket: &Ticket,
    by: Option<&AgentId>,
    agent: &AgentId,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let is_shared = is_shared_now(workspace, dry_run)?;
    if is_shared {
        sync_first(workspace)?;
    }
    let changed = assign_here(workspace, ticket, by, agent, dry_run)?;
    if is_shared {
        confirm_or(workspace, ticket, agent, &changed, &|| {
            let back = match held_before(workspace, &changed)? {
                Some((place, holder)) => assign_here(workspace, &place, by, &holder, dry_run),
                None => release(workspace, ticket, Some(agent), DryRun::No),
            };
            // The earlier holder may not have it any more.
            back.or_else(|_| release(workspace, ticket, Some(agent), DryRun::No))
        })?;
    }
    Ok(changed)
}

/// Returns what changed hands, and the holder before.
fn held_before(
    workspace: &Workspace,
    changed: &Changed,
) -> Result<Option<(Ticket, AgentId)>, ProjectError> {
    let rules = workspace.rules()?.rules;
    let before =
        changed.before.as_ref().map(|before| openings(&rules, &before.task)).unwrap_or_default();
    let mut places = openings(&rules, &changed.after.task).into_iter().zip(before);
    Ok(places.find_map(|(after, before)| {
        let holder = before.holder.filter(|holder| Some(holder) != after.holder.as_ref())?;
        Some((after.ticket, holder))
    }))
}
