//! Files that a branch which has moved says are there: brought forward after a power cut, or settled at one of two places.
//!
//! The folders of the files and of the branch are synced side by side when all have their names, so any of the names may be on the
//! disk without the others. A kill alone never leaves that: the files get their names first. Only a file that is exactly what it
//! was before counts as left behind, or a new one that is missing, and only as long as the branch says of it what it was moved for:
//! whatever else stands there is somebody's.

use crate::domain::Digest;
use crate::git::{BranchLock, Head};
use crate::project::error::ProjectError;
use crate::storage::atomic_write;
use crate::storage::journal::IntendedWrite;
use crate::storage::task_files;
use crate::storage::{ProjectPath, StoreError};
use crate::tasks::recovery::interrupted_write::InterruptedWrite;

impl InterruptedWrite<'_> {
    /// Puts the files of this write in their places that the branch, which has moved, says are there.
    pub(crate) fn bring_forward(
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
                    // The new version stands at the old place where its move was being finished.
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

    /// Leaves companions at one place. They are copied before the branch moves and removed after it, so one may stand at both. What has
    /// not the bytes that were copied is somebody's.
    pub(crate) fn settle_companions(
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
                // Where it is the only one left it stays.
                if here.is_some() || self.is_committed(head, &file.from, &there)? {
                    atomic_write::remove_if(self.lock, &file.to, &there)?;
                }
            }
        }
        Ok(())
    }

    /// Leaves a task that was on its way to another place at one of the two, as HEAD says.
    pub(crate) fn settle_move(
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
            // It was in the way, or has been changed since: it is somebody's.
            return Ok(());
        }
        let Some(here) = self.read(old)? else {
            if !landed && self.is_elsewhere(write)? {
                // A person has moved the old one meanwhile, so it is that one that counts.
                atomic_write::remove_if(lock, &write.new, &there)?;
            }
            return Ok(());
        };
        if landed {
            // The move is committed; what is left at the old place goes if it is what was moved.
            let moved = self.workspace.repository.has_had_text(commit, old.as_str(), &here)?;
            if moved && self.blob(head.commit, old)?.is_none() {
                atomic_write::remove_if(lock, old, &here)?;
            }
            return Ok(());
        }
        // It is not. Where the old place says what HEAD does, the new version goes there, where it is judged like any file ahead of
        // HEAD. Else a person's edit was to be committed first: that stays, and the move, which nobody was told of, is undone.
        if self.is_committed(head, old, &here)? {
            atomic_write::replace_if(lock, old, &here, &there)?;
        }
        atomic_write::remove_if(lock, &write.new, &there)?;
        Ok(())
    }

    /// Returns whether HEAD has that text of a file.
    fn is_committed(
        &self,
        head: &Head,
        path: &ProjectPath,
        text: &[u8],
    ) -> Result<bool, ProjectError> {
        let blob = self.blob(head.commit, path)?;
        Ok(blob.is_some_and(|blob| self.workspace.repository.is_same_text(text, blob)))
    }

    /// Returns whether the task stands at a place that is neither of the two.
    fn is_elsewhere(&self, write: &IntendedWrite) -> Result<bool, ProjectError> {
        let Some(id) = &write.task else { return Ok(false) };
        match task_files::find(&self.workspace.paths, id) {
            Ok(found) => Ok(found.path != write.new),
            Err(StoreError::TaskDoubled { .. } | StoreError::Gone { .. }) => Ok(false),
            Err(fault) => Err(fault.into()),
        }
    }
}
