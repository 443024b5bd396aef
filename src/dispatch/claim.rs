//! Claims and assignments of one task, or of a branch of one. In a synced project the remote has to confirm them.

use super::claim_errors::{is_of_the_task, is_offline};
use super::openings::openings;
use super::synced_claims::{Claims, confirm, confirm_or, look_around};
use crate::domain::{AgentId, Ticket};
use crate::git::CommitId;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::Act;
use crate::tasks::actions::{by_actor, choose_claim, release};
use crate::tasks::apply::change::{Changed, DryRun, change};
use crate::tasks::state::task_state::Standing;

/// Claims what an earlier look showed; nothing where it is not to be had any more.
pub(crate) fn take(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: &AgentId,
) -> Result<Option<Box<Changed>>, OpsError> {
    if Claims::here(workspace)? == Claims::Shared {
        match look_around(workspace) {
            // What it has is found by `next`.
            Err(error) if is_offline(&error) => return Ok(None),
            looked => looked?,
        }
    }
    Ok(match taken(workspace, None, ticket, agent, DryRun::No)? {
        Taken::Claimed(changed) => Some(changed),
        Taken::Gone | Taken::Moved => None,
    })
}

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
) -> Result<Taken, OpsError> {
    let mut moved = false;
    let claimed = change(workspace, &ticket.task, dry_run, &mut |standing| {
        moved = seen.is_some() && standing.head.commit != seen;
        if moved {
            return Err(OpsError::Restless { id: ticket.task.clone() });
        }
        choose_claim(workspace, standing, ticket, agent)
    });
    let claimed = claimed.and_then(|changed| {
        if dry_run == DryRun::No && Claims::here(workspace)? == Claims::Shared {
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
) -> Result<Changed, OpsError> {
    let shared = dry_run == DryRun::No && Claims::here(workspace)? == Claims::Shared;
    if shared {
        look_around(workspace)?;
    }
    let mut choose = |standing: &Standing| choose_claim(workspace, standing, ticket, agent);
    let changed = change(workspace, &ticket.task, dry_run, &mut choose)?;
    if shared {
        confirm(workspace, ticket, agent, &changed)?;
    }
    Ok(changed)
}

/// Gives the task to an agent, or the branch of it that the ticket names, whoever has it now. In a synced project that counts once the
/// remote has it, like a claim.
pub(crate) fn assign(
    workspace: &Workspace,
    ticket: &Ticket,
    by: Option<&AgentId>,
    agent: &AgentId,
    dry_run: DryRun,
) -> Result<Changed, OpsError> {
    let shared = dry_run == DryRun::No && Claims::here(workspace)? == Claims::Shared;
    if shared {
        look_around(workspace)?;
    }
    let give = |to: &AgentId, ticket: &Ticket| {
        let (agent, branch) = (to.clone(), ticket.branch.clone());
        by_actor(workspace, ticket, by, dry_run, &|by| Act::Assign {
            by,
            agent: agent.clone(),
            branch: branch.clone(),
        })
    };
    let changed = give(agent, ticket)?;
    if shared {
        confirm_or(workspace, ticket, agent, &changed, &|| {
            let back = match held_before(workspace, &changed)? {
                Some((place, holder)) => give(&holder, &place),
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
) -> Result<Option<(Ticket, AgentId)>, OpsError> {
    let rules = workspace.rules()?.rules;
    let before =
        changed.before.as_ref().map(|before| openings(&rules, &before.task)).unwrap_or_default();
    let mut places = openings(&rules, &changed.after.task).into_iter().zip(before);
    Ok(places.find_map(|(after, before)| {
        let holder = before.holder.filter(|holder| Some(holder) != after.holder.as_ref())?;
        Some((after.ticket, holder))
    }))
}
