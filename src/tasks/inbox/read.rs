//! A completion file, read: the completion that it says, or why it says none, or not yet.

use serde_json::{Value, json};

use crate::domain::{Completion, CompletionId};
use crate::files::completion_file;
use crate::files::completion_file::Syntax;
use crate::files::diagnostic::Diagnostic;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Refusal;
use crate::storage::inbox::InboxFile;
use crate::storage::{Inbox, StoreError};
use crate::tasks::complete::would_complete;
use crate::tasks::inbox::visits::bind;

/// Returns the completion that a file says, of the visit that it was found to mean before, if any; or the reason why it is refused.
pub(crate) fn completion_in(
    file: &InboxFile,
    bytes: &[u8],
    id: &CompletionId,
) -> Result<Completion, Value> {
    let Some(syntax) = Syntax::of(&file.name) else {
        let message = "a completion file is named `*.yaml`, `*.json` or `*.md`, so that it is known how to read it";
        return Err(json!({"error": "unknown_suffix", "message": message}));
    };
    let mut completion = completion_file::parse(bytes, syntax, id).map_err(|faults| {
        let text = String::from_utf8_lossy(bytes);
        let first = faults.first().map(|fault| fault.message.as_str()).unwrap_or_default();
        let diagnostics =
            faults.iter().map(|fault| Diagnostic::from_fault(&file.name, &text, fault));
        json!({
            "error": "unreadable_completion",
            "message": format!("{first}\n\nMend the file and drop it into `.aof/inbox` again."),
            "diagnostics": diagnostics.map(|found| found.to_value()).collect::<Vec<_>>(),
        })
    })?;
    bind(&mut completion, file.visit.as_ref());
    Ok(completion)
}

/// Returns whether a file that was closed a moment ago says no whole completion: a shell that writes with `>` and then `>>` closes it
/// each time. What is wrong with it for good is told when it has been left alone.
pub(crate) fn is_partial(workspace: &Workspace, file: &InboxFile, id: &CompletionId) -> bool {
    let bytes = match Inbox::of(&workspace.paths).peek(file) {
        Ok(Some(bytes)) => bytes,
        Err(StoreError::Unsteady { .. }) => return true,
        // Who takes it finds out.
        Ok(None) | Err(_) => return false,
    };
    let Ok(completion) = completion_in(file, &bytes, id) else { return true };
    // The body of a Markdown file comes last.
    if Syntax::of(&file.name) == Some(Syntax::Markdown) && completion.body.is_none() {
        return true;
    }
    let has_blockers =
        completion.blockers.is_some() || completion.outcome.as_deref() == Some("complete");
    if completion.outcome.is_some() && completion.summary.is_some() && has_blockers {
        return false;
    }
    // It leaves out what few may: the rules tell.
    let lacking = would_complete(workspace, &completion);
    matches!(
        lacking,
        Err(ProjectError::Refused(
            Refusal::MissingOutcome { .. }
                | Refusal::MissingSummary { .. }
                | Refusal::MissingBlockers { .. }
        ))
    )
}
