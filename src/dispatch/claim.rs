//! Claims and assignments of one task, or of a branch of one. In a synced project the remote has to confirm them.

use super::claim_errors::is_of_the_task;
use super::synced_claims::{ClaimMode, confirm, look_around};
use crate::domain::{AgentId, Ticket};
use crate::git::CommitId;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::actions::choose_claim;
use crate::tasks::apply::change::change;
use crate::tasks::plan::choice::{Changed, DryRun};
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
