//! A commit that a person is about to make of what a killed command left: files and index have a step already that no commit of the
//! engine has. It would be the person's own, and nothing would say who did it.

use std::path::Path;
use std::time::Duration;

use super::{Open, places, whole_repository};
use crate::ops::error::OpsError;
use crate::store::intent::{self, Pending};
use crate::store::{Holder, WriterLock};

/// Says whether tasks are about to be committed while a command is left unfinished that was to change some. Whoever is at it now finishes it
/// himself, and keeps nobody from committing.
pub fn would_commit_unfinished(open: Open<'_>, here: &Path) -> Result<bool, OpsError> {
    let repository = &whole_repository(here)?;
    let Some(head) = repository.look()?.commit else { return Ok(false) };
    for folder in places::about_to_change(repository, head)? {
        let workspace = open(&repository.worktree_root().join(folder))?;
        if !intent::is_pending(&workspace.paths) {
            continue;
        }
        let holder = Holder::this_process(&*workspace.command, workspace.now());
        let lock = WriterLock::acquire(&workspace.paths, &holder, Duration::ZERO, &mut |_| {});
        if let Ok(lock) = lock
            && !matches!(intent::read(&lock)?, Pending::Nothing)
        {
            return Ok(true);
        }
    }
    Ok(false)
}
