//! Completions that were refused, and that nobody has looked at.

use crate::domain::issue::some;
use crate::project::error::error::OpsError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::Inbox;

/// Says how many there are, and names the newest.
pub(crate) fn refused(workspace: &Workspace) -> Result<Option<Issue>, OpsError> {
    let names = Inbox::of(&workspace.paths).refused()?;
    let shown: Vec<&str> = names.iter().map(String::as_str).collect();
    let wait =
        if names.len() == 1 { "refused completion waits" } else { "refused completions wait" };
    Ok((!names.is_empty()).then(|| Issue::new("refused_waiting", format!("{} {wait} in `.aof/refused`: {}", names.len(), some(&shown)), "`NAME.reason.json` beside each says why; mend it and drop it into `.aof/inbox` again, or remove both files")))
}
