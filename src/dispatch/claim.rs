//! Claims and assignments of one task, or of a branch of it. In a synced project the remote has to confirm them.

use super::synced_claims::{ClaimMode, confirm, confirm_or, is_of_the_task, look_around};
use super::workplaces::openings;
use crate::domain::{AgentId, Ticket};
use crate::git::CommitId;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::actions::{assign as assign_here, choose_claim, release};
use crate::tasks::apply::change;
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::state::task_state::TaskState;

/// What became of a claim.
pub(crate) enum Taken {
    /// It is the agent's.
    Claimed(Box<Changed>),
    /// It is not to be had.
    Gone,
    /// The branch is not where it was `seen`.
    Moved,
}

/// Claims it; as long as the branch stands where it was seen, if that matters.
pub(crate) fn taken(
    workspace: &Workspace,
    seen: Option<CommitId>,
    ticket: &Ticket,
    agent: &AgentId,
    dry_run: DryRun,
) -> Result<Taken, ProjectError> {
    let mut moved = false;
    let claimed = change(workspace, &ticket.task, dry_run, &mut |state| {
        moved = seen.is_some() && state.head.commit != seen;
        if moved {
            return Err(ProjectError::Restless { id: ticket.task.clone() });
        }
        choose_claim(workspace, state, ticket, agent)
    });
    let claimed = claimed.and_then(|changed| {
        if dry_run == DryRun::No && ClaimMode::here(workspace)? == ClaimMode::Shared {
            confirm(workspace, ticket, agent, &changed)?;
        }
        Ok(changed)
    });
    match claimed {
        Ok(changed) => Ok(Taken::Claimed(Box::new(changed))),
        Err(_) if moved => Ok(Taken::Moved),
        Err(error) if is_of_the_task(&error) => Ok(Taken::Gone),
        Err(error) => Err(error),
    }
}

/// Takes what the ticket names for the agent.
pub(crate) fn claim(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: &AgentId,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let shared = dry_run == DryRun::No && ClaimMode::here(workspace)? == ClaimMode::Shared;
    if shared {
        look_around(workspace)?;
    }
    let mut choose = |state: &TaskState| choose_claim(workspace, state, ticket, agent);
    let changed = change(workspace, &ticket.task, dry_run, &mut choose)?;
    if shared {
        confirm(workspace, ticket, agent, &changed)?;
    }
    Ok(changed)
}

/// Gives the task to an agent, or the branch of it that the ticket names, whoever has it now.
pub(crate) fn assign(
    workspace: &Workspace,
    ticket: &Ticket,
    by: Option<&AgentId>,
    agent: &AgentId,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let is_shared = dry_run == DryRun::No && ClaimMode::here(workspace)? == ClaimMode::Shared;
    if is_shared {
        look_around(workspace)?;
    }
    let changed = assign_here(workspace, ticket, by, agent, dry_run)?;
    if is_shared {
        confirm_or(workspace, ticket, agent, &changed, &|| {
            let back = match held_before(workspace, &changed)? {
                Some((place, holder)) => assign_here(workspace, &place, by, &holder, dry_run),
                None => release(workspace, ticket, Some(agent), DryRun::No),
            };
            // Whoever had it may not have it any more.
            back.or_else(|_| release(workspace, ticket, Some(agent), DryRun::No))
        })?;
    }
    Ok(changed)
}

/// Returns what changed hands, and who had it.
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
