//! Files that were closed, and are not whole: whoever writes them may not be done.

use crate::domain::{Completion, CompletionId};
use crate::files::completion_file;
use crate::files::completion_file::Syntax;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::Refusal;
use crate::storage::inbox::InboxFile;
use crate::storage::{Inbox, StoreError};
use crate::tasks::complete::would_complete;

/// Returns whether a file that was closed a moment ago says no whole completion: a shell that writes with `>` and then `>>` closes it
/// each time. What is wrong with it for good is told when it has been left alone.
pub(crate) fn looks_torn(workspace: &Workspace, item: &InboxFile, id: &CompletionId) -> bool {
    let Some(syntax) = item.name.to_str().and_then(Syntax::of) else { return false };
    match Inbox::of(&workspace.paths).peek(item) {
        Ok(Some(bytes)) => match completion_file::parse(&bytes, syntax, id) {
            // Its body comes last.
            Ok(completion) if syntax == Syntax::Markdown && completion.body.is_none() => true,
            Ok(completion) => lacks_some(workspace, &completion),
            Err(_) => true,
        },
        Err(StoreError::Unsteady { .. }) => true,
        // Who takes it finds out.
        Ok(None) | Err(_) => false,
    }
}

/// Returns whether a completion would be refused for what it does not say. It is rehearsed where it leaves out what few may.
fn lacks_some(workspace: &Workspace, completion: &Completion) -> bool {
    let has_blockers =
        completion.blockers.is_some() || completion.outcome.as_deref() == Some("complete");
    if completion.outcome.is_some() && completion.summary.is_some() && has_blockers {
        return false;
    }
    matches!(
        would_complete(workspace, completion),
        Err(OpsError::Refused(
            Refusal::MissingOutcome { .. }
                | Refusal::MissingSummary { .. }
                | Refusal::MissingBlockers { .. }
        ))
    )
}
