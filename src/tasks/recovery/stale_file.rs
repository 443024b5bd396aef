//! Replaces a stale task file by HEAD's version with the person's edits in it. The old bytes are kept in `.aof/stale/`.

use crate::domain::Digest;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::atomic_write;
use crate::storage::layout::STALE;
use crate::storage::{Folder, StoreError};
use crate::tasks::recovery::recover;
use crate::tasks::state::task_state::{Pending, TaskState};

/// Replaces the file, if it is stale, and returns whether the task has to be read again.
pub(crate) fn refresh(workspace: &Workspace, state: &TaskState) -> Result<bool, ProjectError> {
    let Pending::Stale(bytes) = &state.pending else { return Ok(false) };
    let (path, old) = (&state.snapshot.path, &state.snapshot.bytes);
    let lock = workspace.lock()?;
    if recover::heal(workspace, &lock)? || !state.snapshot.is_current(&workspace.paths)? {
        return Ok(true);
    }
    let kept = format!("{}-{}.md", state.id, &Digest::of(old).as_str()[..12]);
    let folder = Folder::create(workspace.paths.root(), STALE)?;
    match folder.create_new(&kept, old) {
        // The same version was stale before.
        Ok(()) | Err(StoreError::Exists { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    atomic_write::replace_if(&lock, path, old, bytes)?;
    workspace.warn(format!(
        "`{path}` was an earlier version of the task: your edits are in HEAD's version now, and the old file is `{STALE}/{kept}`"
    ));
    Ok(true)
}
