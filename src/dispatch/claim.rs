//! Taking one task, or a branch of one: the claim, where the remote has to confirm it with that, and whether another may still do.

use super::synced_claims::{Claims, confirm, look_around};
use crate::domain::{AgentId, Ticket};
use crate::git::{CommitId, GitError};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::{Refusal, RefusalKind};
use crate::storage::StoreError;
use crate::tasks::actions::choose_claim;
use crate::tasks::apply::change::{Changed, DryRun, change};

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

/// Returns whether the remote cannot be spoken to.
pub(crate) fn is_offline(error: &OpsError) -> bool {
    matches!(error, OpsError::NotConfirmed { code: "offline", .. })
}

/// Somebody was faster, or it is not for this agent after all, or its file is in trouble: another task may still do.
pub(crate) fn is_of_the_task(error: &OpsError) -> bool {
    match error {
        OpsError::Refused(refusal) => passes_on(refusal),
        OpsError::Frozen { .. }
        | OpsError::UnreadableTask { .. }
        | OpsError::NoTask { .. }
        | OpsError::Splice { .. }
        | OpsError::Restless { .. }
        | OpsError::ClaimLost { .. }
        | OpsError::Store(
            StoreError::Gone { .. }
            | StoreError::TaskDoubled { .. }
            | StoreError::WrongKind { .. }
            | StoreError::TooLarge { .. },
        )
        | OpsError::Git(
            GitError::StagedElsewise { .. }
            | GitError::Unmerged { .. }
            | GitError::IntentToAdd { .. }
            | GitError::Converted { .. },
        ) => true,
        _ => false,
    }
}

fn passes_on(refusal: &Refusal) -> bool {
    refusal.kind() == RefusalKind::Conflict
        || matches!(
            refusal,
            Refusal::AssignedToAnother { .. }
                | Refusal::HumanRequired { .. }
                | Refusal::WrongRole { .. }
                | Refusal::NotSeparate { .. }
                | Refusal::NobodyWorksHere { .. }
                | Refusal::BranchNeeded { .. }
                | Refusal::NotYourBranch { .. }
                | Refusal::NoSuchBranch { .. }
                | Refusal::BranchesNotOpen { .. }
                | Refusal::Blocked { .. }
                | Refusal::NotAdopted { .. }
                | Refusal::GateGone { .. }
                | Refusal::UnknownWorkflow { .. }
        )
}
