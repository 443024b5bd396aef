//! The task files of a change on their way: written under temporary names, put in their places, taken back if the commit fails,
//! cleared of what moved once it is made.
//!
//! Every file is whole under its name at any moment. The folders are synced together with that of the branch, once it has moved:
//! until then a power cut may leave an old file where the branch is new, which `heal` brings forward.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::path::PathBuf;

use crate::storage::atomic_write;
use crate::storage::atomic_write::{Over, StagedWrite};
use crate::storage::{Folder, Paths, ProjectPath, StoreError, WriterLock};
use crate::system::crash_points;
use crate::system::disk::Unsynced;
use crate::tasks::plan::write::Write;

/// The files of one write, in the order in which they get their names.
pub(crate) type StagedFiles = Vec<StagedWrite>;

/// How many writes are staged ahead at most: each keeps its files and their folders open.
const AHEAD: usize = 32;

/// Says what stands where a file is to go that moves, with what goes with it. Asked before anything is written down: whoever heals
/// could not tell that it was there before.
pub(crate) fn look_in_the_way(paths: &Paths, writes: &[Write]) -> Result<(), StoreError> {
    for write in writes {
        let moves = write.from.as_ref().is_some_and(|(path, _)| *path != write.to);
        let own = moves.then_some(&write.to);
        for path in own.into_iter().chain(write.companions.iter().map(|companion| &companion.to)) {
            let folder = Folder::open_existing(paths.root(), path.folder())?;
            if let Some(folder) = folder
                && folder.kind(path.name())?.is_some()
            {
                return Err(StoreError::Exists { path: folder.path().join(path.name()) });
            }
        }
    }
    Ok(())
}

/// Writes the files of these changes, of the first ones if there are many, under temporary names.
pub(crate) fn stage(lock: &WriterLock, writes: &[Write]) -> Result<Vec<StagedFiles>, StoreError> {
    writes.iter().take(AHEAD).map(|write| stage_one(lock, write)).collect()
}

/// Returns those that are not on the disk yet. They are synced before [`PlacedFiles::put`] is called.
pub(crate) fn unsynced(staged: &mut [StagedFiles]) -> Result<Vec<Unsynced>, StoreError> {
    staged.iter_mut().flatten().filter_map(|file| file.unsynced().transpose()).collect()
}

fn stage_one(lock: &WriterLock, write: &Write) -> Result<StagedFiles, StoreError> {
    let mut files = Vec::new();
    for file in &write.beside {
        let over = file.before.clone().map_or(Over::Nothing, Over::Only);
        files.push(StagedWrite::new(lock, &file.path, over, &file.bytes)?);
    }
    let bytes = write.bytes();
    let over = match &write.from {
        Some((path, before)) if *path == write.to && before == bytes => None,
        Some((path, before)) if *path == write.to => Some(Over::Only(before.clone())),
        // What stands where it goes is somebody's, even where git knows nothing of it.
        Some(_) | None => Some(Over::Nothing),
    };
    if let Some(over) = over {
        files.push(StagedWrite::new(lock, &write.to, over, bytes)?.runnable_if(write.is_program)?);
    }
    for companion in &write.companions {
        let file = StagedWrite::new(lock, &companion.to, Over::Nothing, &companion.bytes)?;
        files.push(file.runnable_if(companion.is_program)?);
    }
    Ok(files)
}

/// Files that have their names by now.
#[derive(Default)]
pub(crate) struct PlacedFiles {
    paths: BTreeSet<ProjectPath>,
    /// Each folder once, still to be synced.
    folders: BTreeMap<PathBuf, Unsynced>,
}

impl PlacedFiles {
    /// Gives the files their names; what was not staged yet is. Returns their folders.
    pub(crate) fn put(
        &mut self,
        lock: &WriterLock,
        writes: &[Write],
        staged: &mut [StagedFiles],
    ) -> Result<Vec<Unsynced>, StoreError> {
        let rest = writes.iter().skip(staged.len());
        for files in &mut *staged {
            self.put_one(files)?;
        }
        for write in rest {
            self.put_one(&mut stage_one(lock, write)?)?;
        }
        Ok(mem::take(&mut self.folders).into_values().collect())
    }

    fn put_one(&mut self, files: &mut StagedFiles) -> Result<(), StoreError> {
        for file in files {
            file.put()?;
            self.paths.insert(file.path().clone());
            let folder = file.folder();
            if !self.folders.contains_key(folder.path()) {
                self.folders.insert(folder.path().to_owned(), folder.unsynced()?);
            }
        }
        crash_points::point("ops.file-written");
        Ok(())
    }

    /// Says whether none has its name.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Undoes it. A file that somebody changed in the meantime stays as they left it, and so does one that was in the way.
    pub(crate) fn put_back(&self, lock: &WriterLock, writes: &[Write]) -> Result<(), StoreError> {
        for write in writes {
            let own = write
                .from
                .as_ref()
                .filter(|(path, _)| *path == write.to)
                .map(|(_, before)| before.as_slice());
            self.put_one_back(lock, &write.to, write.bytes(), own)?;
            for companion in &write.companions {
                self.put_one_back(lock, &companion.to, &companion.bytes, None)?;
            }
            for file in &write.beside {
                self.put_one_back(lock, &file.path, &file.bytes, file.before.as_deref())?;
            }
        }
        Ok(())
    }

    fn put_one_back(
        &self,
        lock: &WriterLock,
        path: &ProjectPath,
        bytes: &[u8],
        before: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        if !self.paths.contains(path) {
            return Ok(());
        }
        match before.map_or_else(
            || atomic_write::remove_if(lock, path, bytes),
            |before| atomic_write::replace_if(lock, path, bytes, before),
        ) {
            Err(StoreError::WrongKind { .. }) => Ok(()),
            other => accept_changed(other),
        }
    }
}

/// Removes the old files of tasks that moved, if they still are what was read.
pub(crate) fn remove_moved(lock: &WriterLock, writes: &[Write]) -> Result<(), StoreError> {
    for write in writes {
        if let Some((path, before)) = write.from.as_ref().filter(|(path, _)| *path != write.to) {
            accept_changed(atomic_write::remove_if(lock, path, before))?;
        }
        for companion in &write.companions {
            accept_changed(atomic_write::remove_if(lock, &companion.from, &companion.bytes))?;
        }
    }
    Ok(())
}

fn accept_changed(result: Result<(), StoreError>) -> Result<(), StoreError> {
    match result {
        Err(StoreError::Changed { .. } | StoreError::Gone { .. }) => Ok(()),
        other => other,
    }
}
