//! What a command wrote that is not to count goes back to what was there before, as long as it is exactly that.

use tracing::info;

use crate::domain::TaskId;
use crate::git::Head;
use crate::project::error::ProjectError;
use crate::storage::StoreError;
use crate::storage::atomic_write;
use crate::storage::journal::{FileBefore, IntendedWrite, RecoveryAim};
use crate::system::shell::quoted;
use crate::tasks::recovery::interrupted_write::InterruptedWrite;

impl InterruptedWrite<'_> {
    /// Puts the task's file back: what was there before stands at its old place again, and nothing of the new version at either. What
    /// somebody changes meanwhile stays.
    pub(crate) fn put_back(&self, head: &Head, write: &IntendedWrite) -> Result<(), ProjectError> {
        let lock = self.lock;
        if let Some(old) = &write.old {
            let Some(before) = self.before(head, old)? else { return Ok(()) };
            let here = self.read_if(&old.path, &write.sha256)?;
            if let Some(here) = here.filter(|here| *here != before) {
                unless_changed(atomic_write::replace_if(lock, &old.path, &here, &before))?;
            } else if old.path != write.new
                && self.read(&old.path)?.is_none()
                && self.read_if(&write.new, &write.sha256)?.is_some()
            {
                // Only the new one is left of it.
                atomic_write::create_new(lock, &old.path, &before)?;
            }
            if old.path == write.new {
                return Ok(());
            }
        }
        if let Some(there) = self.read_if(&write.new, &write.sha256)? {
            unless_changed(atomic_write::remove_if(lock, &write.new, &there))?;
        }
        Ok(())
    }

    /// Takes away what stands at the new place, for a move that is not to be finished. Where it is the only one left it stays for now.
    pub(crate) fn undo_move(&self, head: &Head, write: &IntendedWrite) -> Result<(), ProjectError> {
        let old = write.old.as_ref().map(|old| &old.path).filter(|old| **old != write.new);
        if let Some(old) = old
            && let Some(there) = self.read_if(&write.new, &write.sha256)?
            && self.read(old)?.is_some()
        {
            atomic_write::remove_if(self.lock, &write.new, &there)?;
            self.tell_undone(head, write);
        }
        Ok(())
    }

    /// Returns whether the files of a project's beginning, or of its rules, are committed. They are all committed at once, so one of
    /// them tells: HEAD has it, and not as it was before.
    pub(crate) fn are_created_files_committed(
        &self,
        head: &Head,
        write: &IntendedWrite,
    ) -> Result<bool, ProjectError> {
        let made = write.made.iter().find(|made| made.path == write.new);
        let Some(before) = made.and_then(|made| made.before.clone()) else {
            return Ok(self.blob(head.commit, &write.new)?.is_some());
        };
        let file = FileBefore { path: write.new.clone(), sha256: before };
        Ok(self.committed_if(head.commit, &file)?.is_none())
    }

    /// Takes files back that were not committed: a project whose first commit was not made has not begun, and a file of rules that was not
    /// committed is not there. One that somebody changed since stays; one that was there before says again what it said.
    pub(crate) fn undo_created_files(
        &self,
        head: &Head,
        write: &IntendedWrite,
    ) -> Result<(), ProjectError> {
        for made in &write.made {
            let path = &made.path;
            let Some(bytes) = self.read_if(path, &made.sha256)? else { continue };
            let Some(sha256) = made.before.clone() else {
                atomic_write::remove_if(self.lock, path, &bytes)?;
                continue;
            };
            // Where somebody committed something else since, what there was before is theirs to look for.
            let before = FileBefore { path: path.clone(), sha256 };
            if let Some(before) = self.committed_if(head.commit, &before)? {
                atomic_write::replace_if(self.lock, path, &bytes, &before)?;
            }
        }
        Ok(())
    }

    /// Tells that a file was put back. Nobody else says so where a command was stopped: whoever ran it is gone.
    pub(crate) fn tell_undone(&self, head: &Head, write: &IntendedWrite) {
        let task = name(write);
        if self.record.aim == RecoveryAim::Undo {
            info!(task, "what a command failed in is taken back");
            return;
        }
        let why = if self.is_own_branch(head) {
            "does not go with the rules any more that are in force now".to_owned()
        } else {
            format!("was for {}", self.own_branch())
        };
        let text = format!("what a command was stopped in {why}: {task} is as it was before");
        self.workspace.warn(text);
    }

    /// Tells that a file stays. It is not committed here, and nobody can take it back without what somebody else did.
    pub(crate) fn tell_left(&self, head: &Head, write: &IntendedWrite) {
        let id = name(write);
        let path = write.old.as_ref().map_or(&write.new, |old| &old.path);
        let what = match self.record.aim {
            RecoveryAim::Finish => {
                format!("what a command was stopped in was for {}", self.own_branch())
            }
            RecoveryAim::Undo => "what a command failed in was to be taken back".to_owned(),
        };
        let (why, way_back) = if matches!(self.blob(head.commit, path), Ok(Some(_))) {
            let path = quoted(path.as_str());
            let way_back = format!(
                "; `git restore --source=HEAD --staged --worktree {path}` takes all of it back"
            );
            (format!("the file of {id} has been changed since"), way_back)
        } else {
            (format!("what the file of {id} said before is in no commit"), String::new())
        };
        self.workspace.warn(format!(
            "{what}, and {why}, so it stays, and the next change of {id} commits it{way_back}"
        ));
    }

    fn own_branch(&self) -> String {
        let name = self.reference.as_ref();
        let name = name.map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
        name.map_or_else(|| "another branch".to_owned(), |name| format!("`{name}`"))
    }
}

fn name(write: &IntendedWrite) -> &str {
    write.task.as_ref().map_or(write.new.as_str(), TaskId::as_str)
}

fn unless_changed(result: Result<(), StoreError>) -> Result<(), ProjectError> {
    match result {
        Err(StoreError::Changed { .. } | StoreError::Gone { .. }) | Ok(()) => Ok(()),
        Err(fault) => Err(fault.into()),
    }
}
