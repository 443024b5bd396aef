//! Files that stay, because nothing can be written now: they are tried again.

use crate::files::frontmatter::SpliceRefusal;
use crate::git::GitError;
use crate::project::error::error::OpsError;
use crate::tasks::inbox::recipient::{Delivered, Recipient};

/// Tells of trouble that is one file's; what is everybody's ends the work.
pub(crate) fn wait_or_fail(
    name: String,
    error: OpsError,
    recipient: &mut dyn Recipient,
) -> Result<(), OpsError> {
    if error.is_general() {
        return Err(error);
    }
    recipient.told(Delivered::Waiting { name, error });
    Ok(())
}

/// Trouble that is not the completion's, as where its task has no file that can be read: it waits in its place.
pub(crate) fn is_passing(error: &OpsError) -> bool {
    match error {
        OpsError::Store(_)
        | OpsError::InvalidRules(_)
        | OpsError::Restless { .. }
        | OpsError::Frozen { .. }
        | OpsError::NotPutBack { .. }
        | OpsError::UnreadableTask { .. }
        // The way in which a person wrote the file.
        | OpsError::Splice {
            refusal: SpliceRefusal::Shared { .. } | SpliceRefusal::Shape { .. } | SpliceRefusal::Layout { .. },
            ..
        }
        // Only the worktree lacks it: an editor that saves by renaming, or somebody who deleted it and may bring it back.
        | OpsError::NoTask { committed: Some(_), .. } => true,
        OpsError::Unfit { code, .. } => *code == "rules_not_committed",
        OpsError::Git(error) => !matches!(error, GitError::BadPerson { .. } | GitError::BadPath { .. }),
        _ => false,
    }
}
