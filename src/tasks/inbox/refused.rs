//! Completions that were refused, and that nobody has looked at.

use crate::domain::issue::{Attention, some};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::Inbox;

/// Says how many there are, and names the newest.
pub(crate) fn refused(workspace: &Workspace) -> Result<Option<Attention>, OpsError> {
    let names = Inbox::of(&workspace.paths).refused()?;
    let shown: Vec<&str> = names.iter().map(String::as_str).collect();
    let wait =
        if names.len() == 1 { "refused completion waits" } else { "refused completions wait" };
    Ok((!names.is_empty()).then(|| Attention {
        code: "refused_waiting",
        problem: format!("{} {wait} in `.aof/refused`: {}", names.len(), some(&shown)),
        fix:
            "`NAME.reason.json` beside each says why; mend it and drop it into `.aof/inbox` again, or remove both files"
                .to_owned(),
    }))
}
