//! Repairs the files of an interrupted write: updates them to the branch's version, or restores the old one.
//!
//! The folders of the files and of the branch are synced in parallel, so after a power cut any of them may be old. A kill alone
//! never leaves that. Only a file with exactly its old bytes, or a missing new file, counts as old. Any other content belongs to
//! a person and stays.

use tracing::info;

use crate::domain::{Digest, TaskId};
use crate::git::{BranchLock, Head};
use crate::project::error::ProjectError;
use crate::storage::journal::{FileBefore, IntendedWrite, RecoveryAim};
use crate::storage::{ProjectPath, StoreError};
use crate::storage::{atomic_write, task_files};
use crate::system::terminal::quoted;
use crate::tasks::recovery::interrupted_write::InterruptedWrite;

impl InterruptedWrite<'_> {
    /// Writes those files that the moved branch has, and the worktree still has in their old version.
    pub(crate) fn update_to_branch(
        &self,
        head: &Head,
        branch: &BranchLock,
        write: &IntendedWrite,
    ) -> Result<(), ProjectError> {
        let lock = self.lock;
        let wanted_at = |path: &ProjectPath| -> Result<Option<Vec<u8>>, ProjectError> {
            let wanted = self.blob(Some(branch.to), path)?;
            let is_current = self.blob(head.commit, path)? == wanted;
            let wanted = wanted.filter(|_| is_current);
            Ok(wanted.map(|blob| self.workspace.repository.read_blob(blob)).transpose()?)
        };
        if write.task.is_some()
            && let Some(wanted) = wanted_at(&write.new)?
        {
            match (&write.old, self.read(&write.new)?) {
                (Some(old), Some(here))
                    if old.path == write.new && Digest::of(&here) == old.sha256 =>
                {
                    atomic_write::replace_if(lock, &write.new, &here, &wanted)?;
                }
                (None, None) => atomic_write::create_new(lock, &write.new, &wanted)?,
                (Some(old), None) if old.path != write.new => {
                    // The old path may have the new version already, if an earlier recovery of the move was interrupted.
                    let there = self.read(&old.path)?.map(|there| Digest::of(&there));
                    if there.is_some_and(|there| [&old.sha256, &write.sha256].contains(&&there)) {
                        atomic_write::create_new(lock, &write.new, &wanted)?;
                    }
                }
                _ => {}
            }
        }
        for file in &write.companions {
            if wanted_at(&file.to)?.is_some()
                && self.read(&file.to)?.is_none()
                && let Some(there) = self.read_if(&file.from, &file.sha256)?
            {
                atomic_write::create_new(lock, &file.to, &there)?;
            }
        }
        for made in &write.made {
            let Some(wanted) = wanted_at(&made.path)? else { continue };
            match self.read(&made.path)? {
                here if here.as_deref().map(Digest::of) != made.before => {}
                Some(here) => atomic_write::replace_if(lock, &made.path, &here, &wanted)?,
                None => atomic_write::create_new(lock, &made.path, &wanted)?,
            }
        }
        Ok(())
    }

    /// Leaves each companion in one place. Companions are copied before the branch moves and removed after it, so one may be in
    /// both. A file with other bytes belongs to a person.
    pub(crate) fn resolve_companions(
        &self,
        head: &Head,
        write: &IntendedWrite,
    ) -> Result<(), ProjectError> {
        if head.commit.is_none() {
            return Ok(());
        }
        let landed = self.blob(head.commit, &write.new)?.is_some();
        for file in &write.companions {
            let (here, there) = (self.read(&file.from)?, self.read(&file.to)?);
            let copied = |bytes: &Vec<u8>| Digest::of(bytes) == file.sha256;
            if landed {
                let is_there = there.is_some() || self.blob(head.commit, &file.to)?.is_some();
                if let Some(here) = here.filter(copied).filter(|_| is_there) {
                    atomic_write::remove_if(self.lock, &file.from, &here)?;
                }
            } else if let Some(there) = there.filter(copied) {
                // If it is the only copy left, it stays.
                if here.is_some() || self.is_committed(head, &file.from, &there)? {
                    atomic_write::remove_if(self.lock, &file.to, &there)?;
                }
            }
        }
        Ok(())
    }

    /// Leaves the file of a task that was being moved in one place, as HEAD has it.
    pub(crate) fn resolve_move(
        &self,
        head: &Head,
        write: &IntendedWrite,
    ) -> Result<(), ProjectError> {
        let old = write.old.as_ref().map(|old| &old.path).filter(|old| **old != write.new);
        let (Some(old), Some(commit)) = (old, head.commit) else { return Ok(()) };
        let Some(there) = self.read(&write.new)? else { return Ok(()) };
        let lock = self.lock;
        let landed = self.blob(head.commit, &write.new)?.is_some();
        if !landed && Digest::of(&there) != write.sha256 {
            // The file existed before or was changed since: it belongs to a person.
            return Ok(());
        }
        let Some(here) = self.read(old)? else {
            if !landed && self.is_elsewhere(write)? {
                // A person has moved the old file meanwhile, so the moved file counts.
                atomic_write::remove_if(lock, &write.new, &there)?;
            }
            return Ok(());
        };
        if landed {
            // The move is committed: remove the old file if it has the moved bytes.
            let moved = self.workspace.repository.has_had_text(commit, old.as_str(), &here)?;
            if moved && self.blob(head.commit, old)?.is_none() {
                atomic_write::remove_if(lock, old, &here)?;
            }
            return Ok(());
        }
        // The move is not committed. If the old file is as in HEAD, the new version replaces it there, to be judged like any file
        // ahead of HEAD. Otherwise it has a person's edit that was to be committed first: the edit stays, and the move, which was
        // never reported as done, is undone.
        if self.is_committed(head, old, &here)? {
            atomic_write::replace_if(lock, old, &here, &there)?;
        }
        atomic_write::remove_if(lock, &write.new, &there)?;
        Ok(())
    }

    /// Returns whether HEAD has this text of a file.
    fn is_committed(
        &self,
        head: &Head,
        path: &ProjectPath,
        text: &[u8],
    ) -> Result<bool, ProjectError> {
        let blob = self.blob(head.commit, path)?;
        Ok(blob.is_some_and(|blob| self.workspace.repository.is_same_text(text, blob)))
    }

    /// Returns whether the task's file is at neither of the two paths.
    fn is_elsewhere(&self, write: &IntendedWrite) -> Result<bool, ProjectError> {
        let Some(id) = &write.task else { return Ok(false) };
        match task_files::find(&self.workspace.paths, id) {
            Ok(found) => Ok(found.path != write.new),
            Err(StoreError::TaskDoubled { .. } | StoreError::Gone { .. }) => Ok(false),
            Err(fault) => Err(fault.into()),
        }
    }
}

impl InterruptedWrite<'_> {
    /// Restores the task's file at its old path, and removes the new version. A person's change meanwhile stays.
    pub(crate) fn restore_file(
        &self,
        head: &Head,
        write: &IntendedWrite,
    ) -> Result<(), ProjectError> {
        let lock = self.lock;
        if let Some(old) = &write.old {
            let Some(before) = self.old_bytes(head, old)? else { return Ok(()) };
            let here = self.read_if(&old.path, &write.sha256)?;
            if let Some(here) = here.filter(|here| *here != before) {
                unless_changed(atomic_write::replace_if(lock, &old.path, &here, &before))?;
            } else if old.path != write.new
                && self.read(&old.path)?.is_none()
                && self.read_if(&write.new, &write.sha256)?.is_some()
            {
                // Only the new file is left.
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

    /// Removes the new file of a move that will not be finished, unless it is the only one left.
    pub(crate) fn undo_move(&self, head: &Head, write: &IntendedWrite) -> Result<(), ProjectError> {
        let old = write.old.as_ref().map(|old| &old.path).filter(|old| **old != write.new);
        if let Some(old) = old
            && let Some(there) = self.read_if(&write.new, &write.sha256)?
            && self.read(old)?.is_some()
        {
            atomic_write::remove_if(self.lock, &write.new, &there)?;
            self.warn_undone(head, write);
        }
        Ok(())
    }

    /// Returns whether the plain files of this write (a new project's, or rules) are committed. They are committed together, so
    /// checking one is enough: HEAD has it, in another version than before.
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

    /// Removes or restores plain files that were not committed: a project without its first commit does not exist. A file that
    /// has changed since stays.
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
            // If another version was committed since, the old one is not restored.
            let before = FileBefore { path: path.clone(), sha256 };
            if let Some(before) = self.committed_if(head.commit, &before)? {
                atomic_write::replace_if(self.lock, path, &bytes, &before)?;
            }
        }
        Ok(())
    }

    /// Warns that a file was restored: a killed command cannot report that itself.
    pub(crate) fn warn_undone(&self, head: &Head, write: &IntendedWrite) {
        let task = name(write);
        if self.record.aim == RecoveryAim::Undo {
            info!(task, "what a command failed in is taken back");
            return;
        }
        let why = if self.is_own_branch(head) {
            "does not fit the rules that are in force now".to_owned()
        } else {
            format!("was for {}", self.own_branch())
        };
        let text = format!("what a command was stopped in {why}: {task} is as it was before");
        self.workspace.warn(text);
    }

    /// Warns that a file stays though it is not committed: restoring it would also undo a person's change.
    pub(crate) fn warn_kept(&self, head: &Head, write: &IntendedWrite) {
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
