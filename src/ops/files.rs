//! The task files of a change on their way: written under temporary names, put in their places, taken back if the commit fails,
//! cleared of what moved once it is made.
//!
//! Every file is whole under its name at any moment. The folders are synced together with that of the branch, once it has moved:
//! until then a power cut may leave an old file where the branch is new, which `heal` brings forward.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::transaction::Write;
use crate::disk::Unsynced;
use crate::stop;
use crate::store::atomic::{self, Over, Staged};
use crate::store::{ProjectPath, StoreError, WriterLock};

/// The files of one write, in the order in which they get their names.
pub(super) type Files = Vec<Staged>;

/// How many writes are staged ahead at most: each keeps its files and their folders open.
const AHEAD: usize = 32;

/// Writes the files of these changes, of the first ones if there are many, under temporary names.
pub(super) fn stage(lock: &WriterLock, writes: &[Write]) -> Result<Vec<Files>, StoreError> {
    writes.iter().take(AHEAD).map(|write| stage_one(lock, write)).collect()
}

/// Returns those that are not on the disk yet. They are synced before [`put`] is called.
pub(super) fn unsynced(staged: &mut [Files]) -> Result<Vec<Unsynced>, StoreError> {
    staged.iter_mut().flatten().filter_map(|file| file.unsynced().transpose()).collect()
}

fn stage_one(lock: &WriterLock, write: &Write) -> Result<Files, StoreError> {
    let mut files = Vec::new();
    for file in &write.beside {
        let over = file.before.clone().map_or(Over::Nothing, Over::Only);
        files.push(Staged::new(lock, &file.path, over, &file.bytes)?);
    }
    let bytes = write.bytes();
    let over = match &write.from {
        Some((path, before)) if *path == write.to && before == bytes => None,
        Some((path, before)) if *path == write.to => Some(Over::Only(before.clone())),
        Some(_) => Some(Over::Anything),
        None => Some(Over::Nothing),
    };
    if let Some(over) = over {
        files.push(Staged::new(lock, &write.to, over, bytes)?);
    }
    for companion in &write.companions {
        files.push(Staged::new(lock, &companion.to, Over::Anything, &companion.bytes)?);
    }
    Ok(files)
}

/// Gives the files their names; what was not staged yet is. Returns their folders, each once, which are still to be synced.
pub(super) fn put(lock: &WriterLock, writes: &[Write], staged: &mut [Files]) -> Result<Vec<Unsynced>, StoreError> {
    let mut folders = BTreeMap::new();
    let rest = writes.iter().skip(staged.len());
    for files in &mut *staged {
        put_one(files, &mut folders)?;
    }
    for write in rest {
        put_one(&mut stage_one(lock, write)?, &mut folders)?;
    }
    Ok(folders.into_values().collect())
}

fn put_one(files: &mut Files, folders: &mut BTreeMap<PathBuf, Unsynced>) -> Result<(), StoreError> {
    for file in files {
        file.put()?;
        let folder = file.folder();
        if !folders.contains_key(folder.path()) {
            folders.insert(folder.path().to_owned(), folder.unsynced()?);
        }
    }
    stop::point("ops.file-written");
    Ok(())
}

/// Undoes [`put`]. A file that somebody changed in the meantime stays as they left it.
pub(super) fn put_back(lock: &WriterLock, writes: &[Write]) -> Result<(), StoreError> {
    for write in writes {
        let bytes = write.bytes();
        match &write.from {
            Some((path, before)) if *path == write.to => {
                accept_changed(atomic::replace_if(lock, path, bytes, before))?;
            }
            _ => take_back(lock, &write.to, bytes)?,
        }
        for companion in &write.companions {
            take_back(lock, &companion.to, &companion.bytes)?;
        }
        for file in &write.beside {
            match &file.before {
                Some(before) => accept_changed(atomic::replace_if(lock, &file.path, &file.bytes, before))?,
                None => take_back(lock, &file.path, &file.bytes)?,
            }
        }
    }
    Ok(())
}

/// Removes the old files of tasks that moved, if they still are what was read.
pub(super) fn settle(lock: &WriterLock, writes: &[Write]) -> Result<(), StoreError> {
    for write in writes {
        if let Some((path, before)) = write.from.as_ref().filter(|(path, _)| *path != write.to) {
            accept_changed(atomic::remove_if(lock, path, before))?;
        }
        for companion in &write.companions {
            accept_changed(atomic::remove_if(lock, &companion.from, &companion.bytes))?;
        }
    }
    Ok(())
}

/// Takes back what stands there still; what others put there, of whatever kind, is theirs.
pub(super) fn take_back(lock: &WriterLock, path: &ProjectPath, bytes: &[u8]) -> Result<(), StoreError> {
    match atomic::remove_if(lock, path, bytes) {
        Err(StoreError::WrongKind { .. }) => Ok(()),
        other => accept_changed(other),
    }
}

fn accept_changed(result: Result<(), StoreError>) -> Result<(), StoreError> {
    match result {
        Err(StoreError::Changed { .. } | StoreError::Gone { .. }) => Ok(()),
        other => other,
    }
}
