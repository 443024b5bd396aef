//! Changes task files: atomically, durably, and only if the file is unchanged since its writer read it.
//!
//! Each change is: temporary file in the same folder, fsync, compare again, rename, fsync of the folder. A kill before the rename
//! leaves the old file and a temporary one, which [`sweep`] removes; a kill after it leaves the new file.

use std::ffi::OsString;
use std::fs::DirEntry;
use std::time::{Duration, SystemTime};

use super::task_files::FILE_LIMIT;
use super::task_files::folders;
use crate::storage::fs::folder::list;
use crate::storage::fs::temporary_file::{TemporaryFile, is_dead};
use crate::storage::layout::{DROPPED, INBOX, LOCAL, OUTBOX, REFUSED, SCHEMAS, UNREPORTED};
use crate::storage::{Durability, Folder, Outbox, Paths, ProjectPath, StoreError, WriterLock};
use crate::system::disk::{TEMPORARY, Unsynced};

/// Temporary files older than this are abandoned: no write takes that long.
const ABANDONED: Duration = Duration::from_mins(1);

/// The file that a write may replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Over {
    /// A file with these bytes; otherwise the write fails with [`StoreError::Changed`] or [`StoreError::Gone`].
    Only(Vec<u8>),
    /// No file; if one exists, the write fails with [`StoreError::Exists`].
    Nothing,
}

/// A file under a temporary name, removed when dropped.
#[derive(Debug)]
pub(crate) struct StagedWrite {
    file: TemporaryFile<Folder>,
    path: ProjectPath,
    over: Over,
}

impl StagedWrite {
    /// Writes a temporary file that will get this path.
    pub(crate) fn new(
        lock: &WriterLock,
        path: &ProjectPath,
        over: Over,
        bytes: &[u8],
    ) -> Result<Self, StoreError> {
        let root = lock.paths().root();
        let folder = match &over {
            Over::Only(_) => Folder::open(root, path.folder())?,
            Over::Nothing => Folder::create(root, path.folder())?,
        };
        if over == Over::Nothing && folder.kind(path.name())?.is_some() {
            return Err(StoreError::Exists { path: folder.path().join(path.name()) });
        }
        let file = TemporaryFile::new(folder, path.name(), bytes, Durability::Durable)?;
        Ok(Self { file, path: path.clone(), over })
    }

    /// Makes the file executable for those who may read it, if asked.
    pub(crate) fn runnable_if(self, is_program: bool) -> Result<Self, StoreError> {
        if is_program {
            self.file.make_runnable()?;
        }
        Ok(self)
    }

    /// Returns the file if it is not synced yet. The caller syncs it before [`StagedWrite::put`].
    pub(crate) fn unsynced(&mut self) -> Option<Unsynced> {
        self.file.unsynced()
    }

    /// Renames the file to its path, after syncing its bytes. The name itself is not synced.
    pub(crate) fn put(&mut self) -> Result<(), StoreError> {
        self.file.flush()?;
        match &self.over {
            Over::Only(expected) => {
                // Compared as late as possible: editors do not take the lock.
                check(self.file.folder(), self.path.name(), expected)?;
                self.file.replace(self.path.name())
            }
            Over::Nothing => self.file.create(self.path.name()),
        }
    }

    /// Returns the final path of the file.
    pub(crate) fn path(&self) -> &ProjectPath {
        &self.path
    }

    /// Returns the folder, whose names are not synced yet.
    pub(crate) fn folder(&self) -> &Folder {
        self.file.folder()
    }
}

/// Creates a file. Fails if it exists.
pub(crate) fn create_new(
    lock: &WriterLock,
    path: &ProjectPath,
    bytes: &[u8],
) -> Result<(), StoreError> {
    write(lock, path, Over::Nothing, bytes)
}

/// Replaces a file that still has the expected bytes; otherwise fails with [`StoreError::Changed`] or [`StoreError::Gone`].
pub(crate) fn replace_if(
    lock: &WriterLock,
    path: &ProjectPath,
    expected: &[u8],
    bytes: &[u8],
) -> Result<(), StoreError> {
    write(lock, path, Over::Only(expected.to_vec()), bytes)
}

fn write(
    lock: &WriterLock,
    path: &ProjectPath,
    over: Over,
    bytes: &[u8],
) -> Result<(), StoreError> {
    let mut staged = StagedWrite::new(lock, path, over, bytes)?;
    staged.put()?;
    staged.folder().sync()
}

/// Removes a file that still has the expected bytes. A missing file is not an error.
pub(crate) fn remove_if(
    lock: &WriterLock,
    path: &ProjectPath,
    expected: &[u8],
) -> Result<(), StoreError> {
    let Some(folder) = Folder::open_existing(lock.paths().root(), path.folder())? else {
        return Ok(());
    };
    match check(&folder, path.name(), expected) {
        Ok(()) => {}
        Err(StoreError::Gone { .. }) => return Ok(()),
        Err(fault) => return Err(fault),
    }
    folder.remove(path.name())?;
    folder.sync()
}

/// Removes the temporary files that a crash left in one folder of tasks. The lock is held, so no process is writing them.
pub(crate) fn sweep(lock: &WriterLock, folder: &str) -> Result<(), StoreError> {
    let Some(folder) = Folder::open_existing(lock.paths().root(), folder)? else { return Ok(()) };
    remove(&folder, &temporary_files(&folder, None)?)
}

/// Removes the temporary files that a crash left anywhere below `tasks/`.
pub(crate) fn sweep_tasks(lock: &WriterLock) -> Result<(), StoreError> {
    folders(lock.paths()).try_for_each(|folder| sweep(lock, folder.as_str()))
}

/// Removes the temporary files directly in `.aof/` whose process was killed.
pub(crate) fn sweep_dead(lock: &WriterLock) -> Result<(), StoreError> {
    let names = list(lock.local().path())?.into_iter().map(|entry| entry.file_name());
    names.filter(|name| is_dead(name)).try_for_each(|name| lock.local().remove(&name))
}

/// Removes the temporary files that a crash left in `.aof/`. Completions and the cache are written without the lock, so only old
/// ones are removed.
pub(crate) fn sweep_local(lock: &WriterLock, now: SystemTime) -> Result<(), StoreError> {
    for folder in local_folders(lock.paths())? {
        if let Some(folder) = Folder::open_existing(lock.paths().root(), &folder)? {
            remove(&folder, &temporary_files(&folder, Some(now))?)?;
        }
    }
    Ok(())
}

/// Returns the number of abandoned temporary files.
pub(crate) fn abandoned(paths: &Paths, now: SystemTime) -> Result<usize, StoreError> {
    let tasks = folders(paths).map(|folder| folder.as_str().to_owned());
    tasks.chain(local_folders(paths)?).try_fold(0, |count, folder| {
        let Some(folder) = Folder::open_existing(paths.root(), &folder)? else { return Ok(count) };
        Ok(count + temporary_files(&folder, Some(now))?.len())
    })
}

/// Returns the temporary files in a folder; with a time, only the abandoned ones.
fn temporary_files(folder: &Folder, now: Option<SystemTime>) -> Result<Vec<OsString>, StoreError> {
    let is_old = |entry: &DirEntry, now: SystemTime| {
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age >= ABANDONED))
    };
    let entries = list(folder.path())?.into_iter().filter(|entry| {
        entry.file_name().as_encoded_bytes().starts_with(TEMPORARY.as_bytes())
            && now.is_none_or(|now| is_old(entry, now))
    });
    Ok(entries.map(|entry| entry.file_name()).collect())
}

fn remove(folder: &Folder, names: &[OsString]) -> Result<(), StoreError> {
    names.iter().try_for_each(|name| folder.remove(name))?;
    // Their journal record is cleared next, so a power cut must not bring them back.
    if names.is_empty() { Ok(()) } else { folder.sync() }
}

/// Returns the folders of `.aof/` in which files are created.
fn local_folders(paths: &Paths) -> Result<Vec<String>, StoreError> {
    let mut folders: Vec<String> =
        [LOCAL, INBOX, REFUSED, SCHEMAS, OUTBOX, UNREPORTED, DROPPED].map(str::to_owned).into();
    let channels = Outbox::at(paths).channels()?;
    folders.extend(channels.into_iter().map(|key| format!("{OUTBOX}/{}", key.as_str())));
    Ok(folders)
}

fn check(folder: &Folder, name: &str, expected: &[u8]) -> Result<(), StoreError> {
    let path = || folder.path().join(name);
    match folder.read(name, FILE_LIMIT) {
        Ok(Some((bytes, _))) if bytes == expected => Ok(()),
        Ok(None) => Err(StoreError::Gone { path: path() }),
        Ok(Some(_)) | Err(StoreError::TooLarge { .. } | StoreError::Unsteady { .. }) => {
            Err(StoreError::Changed { path: path() })
        }
        Err(fault) => Err(fault),
    }
}

#[cfg(test)]
mod tests;
