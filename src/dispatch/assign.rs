//! Giving a task to an agent. In a synced project that counts once the remote has it, like a claim.

use super::openings::openings;
use super::synced_claims::{ClaimMode, confirm_or, look_around};
use crate::domain::{AgentId, Ticket};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::actions::{assign as assign_here, release};
use crate::tasks::plan::choice::{Changed, DryRun};

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
