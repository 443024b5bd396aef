//! What the failure of one claim says about others: whether another task may still be claimed.

use crate::git::GitError;
use crate::project::error::ProjectError;
use crate::rules::{Refusal, RefusalKind};
use crate::storage::StoreError;

/// Returns whether the remote cannot be spoken to.
pub(crate) fn is_offline(error: &ProjectError) -> bool {
    matches!(error, ProjectError::NotConfirmed { code: "offline", .. })
}

/// Somebody was faster, or it is not for this agent after all, or its file is in trouble: another task may still do.
pub(crate) fn is_of_the_task(error: &ProjectError) -> bool {
    match error {
        ProjectError::Refused(refusal) => passes_on(refusal),
        ProjectError::Frozen { .. }
        | ProjectError::UnreadableTask { .. }
        | ProjectError::NoTask { .. }
        | ProjectError::Splice { .. }
        | ProjectError::Restless { .. }
        | ProjectError::ClaimLost { .. }
        | ProjectError::Store(
            StoreError::Gone { .. }
            | StoreError::TaskDoubled { .. }
            | StoreError::WrongKind { .. }
            | StoreError::TooLarge { .. },
        )
        | ProjectError::Git(
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
