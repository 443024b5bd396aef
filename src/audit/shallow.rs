//! Where history was cut off, as in a shallow clone, or grafted. Only reads.
//!
//! Git keeps that for all worktrees in one place, and libgit2 looks for it in the folder of the worktree that it opened: in a linked one
//! it would walk on into commits that are not here.

use super::error::AuditError;
use super::quarantine;
use super::repository::{Repository, open};

impl Repository {
    /// Returns whether history was cut off here, as in a shallow clone.
    pub fn is_shallow(&self) -> bool {
        self.common_dir().join("shallow").symlink_metadata().is_ok_and(|found| found.len() > 0)
    }

    /// Says whether commits may have other parents here than they say: where history was cut off, or grafted.
    pub(super) fn has_other_parents(&self) -> bool {
        let is_so = || self.is_shallow() || self.common_dir().join("info/grafts").exists();
        *self.walked().other_parents.get_or_init(is_so)
    }

    /// Returns the repository as it is to be walked: one that knows where history ends.
    pub(super) fn history(&self) -> Result<&git2::Repository, AuditError> {
        if !self.git().is_worktree() || !self.has_other_parents() {
            return Ok(self.git());
        }
        let main = &self.walked().main;
        if let Some(main) = main.get() {
            return Ok(main);
        }
        let opened = open(self.common_dir())?;
        quarantine::see_through(&opened, self.objects().path())?;
        Ok(main.get_or_init(|| opened))
    }
}
