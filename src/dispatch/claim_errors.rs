//! What the failure of one claim says about others: whether another task may still be claimed.

use crate::git::GitError;
use crate::project::error::error::OpsError;
use crate::rules::{Refusal, RefusalKind};
use crate::storage::StoreError;

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
