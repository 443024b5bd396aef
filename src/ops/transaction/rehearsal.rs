//! What would keep changes from being committed, as far as that can be told without the lock. Nothing is written.

use std::slice;

use super::commit::drafts;
use super::Planned;
use crate::ops::error::OpsError;
use crate::ops::files;
use crate::ops::workspace::Workspace;

/// Meets what would keep a change from being committed.
pub(super) fn rehearse(workspace: &Workspace, planned: &Planned) -> Result<(), OpsError> {
    for write in &planned.writes {
        let writes = slice::from_ref(write);
        files::look_in_the_way(&workspace.paths, writes)?;
        workspace.repository.rehearse(&planned.head, &drafts(workspace, writes)?)?;
    }
    Ok(())
}
