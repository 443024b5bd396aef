//! Replaces files atomically: temporary file, fsync, rename, fsync of the folder.
//!
//! A kill leaves the old file or the new one, and at most a temporary file, whose name begins with `.aof-tmp`. A failed fsync is
//! not retried: the second one would succeed without having written anything.

use std::borrow::Borrow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::{mem, process};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;
use serde::Serialize;

use super::error::{OrIo, StoreError};
use super::folder::Folder;
use super::random::random_local;
use crate::system::disk::{self, SyncPart, TEMPORARY, Unsynced};

/// Returns whether it is the name of a temporary file whose process has ended.
pub(crate) fn is_dead(name: &OsStr) -> bool {
    let name = name
        .to_str()
        .and_then(|name| name.strip_prefix(TEMPORARY)?.strip_prefix('-')?.split_once('-'));
    let process = name.and_then(|(process, _)| Pid::from_raw(process.parse().ok()?));
    process.is_some_and(|id| rustix::process::test_kill_process(id) == Err(Errno::SRCH))
}

/// The guarantee that a write gives after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The bytes are synced before the rename, and the name before the call returns.
    Durable,
    /// Complete after a kill; after a power cut it may be old or damaged. For data that can be rebuilt.
    Volatile,
}

impl Folder {
    /// Replaces or creates a file, keeping its mode bits.
    pub(crate) fn replace(
        &self,
        name: &str,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), StoreError> {
        TemporaryFile::new(self, name, bytes, durability)?.replace(name)?;
        match durability {
            Durability::Durable => self.sync(),
            Durability::Volatile => Ok(()),
        }
    }

    /// Replaces or creates a JSON file of our own.
    pub(crate) fn replace_json(
        &self,
        name: &str,
        value: &impl Serialize,
        durability: Durability,
    ) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(value).expect("plain fields are JSON");
        self.replace(name, &bytes, durability)
    }

    /// Creates a file durably. Fails if it exists.
    pub(crate) fn create_new(
        &self,
        name: impl AsRef<OsStr>,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        let name = name.as_ref();
        if self.kind(name)?.is_some() {
            return Err(StoreError::Exists { path: self.path().join(name) });
        }
        TemporaryFile::new(self, name, bytes, Durability::Durable)?.create(name)?;
        self.sync()
    }
}

/// A file under a temporary name, removed when dropped.
#[derive(Debug)]
pub(crate) struct TemporaryFile<F: Borrow<Folder>> {
    folder: F,
    temporary: String,
    file: Arc<File>,
    /// True if its bytes must still be synced before the rename.
    needs_sync: bool,
    is_pending: bool,
}

impl<F: Borrow<Folder>> TemporaryFile<F> {
    /// Writes the bytes to a temporary file, with the mode bits of the file that it replaces. Starts writing them back, so that
    /// syncing several files takes hardly longer than one.
    pub(crate) fn new(
        folder: F,
        name: impl AsRef<OsStr>,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<Self, StoreError> {
        let inside = folder.borrow();
        let mode = inside.permissions(name.as_ref())?;
        let temporary = format!("{TEMPORARY}-{}-{}", process::id(), random_local(16)?);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let first_mode = mode.unwrap_or(Mode::from_raw_mode(0o666));
        let file = rustix::fs::openat(&inside.handle, &*temporary, flags, first_mode)
            .or_io("write in", inside.path())?;
        let file = Arc::new(File::from(file));
        let target = inside.path().join(name.as_ref());
        let needs_sync = durability == Durability::Durable;
        let mut made = Self { folder, temporary, file, needs_sync, is_pending: true };
        if let Some(mode) = mode {
            rustix::fs::fchmod(&made.file, mode).or_io("set the mode of", &target)?;
        }
        made.file.write_all(bytes).or_io("write", &target)?;
        if needs_sync {
            disk::start(&made.file);
        }
        Ok(made)
    }

    /// Makes the file executable for those who may read it.
    pub(crate) fn make_runnable(&self) -> Result<(), StoreError> {
        let folder = self.folder().path();
        let mode = rustix::fs::fstat(&self.file).or_io("set the mode in", folder)?.st_mode;
        let runs = Mode::from_raw_mode(mode | (mode & 0o444) >> 2);
        rustix::fs::fchmod(&self.file, runs).or_io("set the mode in", folder)
    }

    /// Appends bytes; `name` is for errors.
    pub(crate) fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.write_all(bytes).or_io("write", self.folder().path().join(name))
    }

    /// Returns the folder of the file.
    pub(crate) fn folder(&self) -> &Folder {
        self.folder.borrow()
    }

    fn path(&self) -> PathBuf {
        self.folder().path().join(&self.temporary)
    }

    /// Returns a durable file that is not synced yet. The caller syncs it before the rename.
    pub(crate) fn unsynced(&mut self) -> Option<Unsynced> {
        mem::take(&mut self.needs_sync)
            .then(|| Unsynced::new(Arc::clone(&self.file), &self.path(), SyncPart::Everything))
    }

    /// Syncs the bytes of a durable file.
    pub(crate) fn flush(&mut self) -> Result<(), StoreError> {
        if self.needs_sync {
            self.file.sync_all().or_io("flush to disk", self.path())?;
            self.needs_sync = false;
        }
        Ok(())
    }

    /// Renames the file, replacing one of that name.
    pub(crate) fn replace(&mut self, name: &str) -> Result<(), StoreError> {
        self.flush()?;
        let folder = self.folder();
        rustix::fs::renameat(&folder.handle, &*self.temporary, &folder.handle, name)
            .or_io("replace", folder.path().join(name))?;
        self.is_pending = false;
        Ok(())
    }

    /// Renames the file. Fails if the name is taken.
    pub(crate) fn create(&mut self, name: impl AsRef<OsStr>) -> Result<(), StoreError> {
        self.flush()?;
        let (folder, name) = (self.folder(), name.as_ref());
        folder.move_new(OsStr::new(&self.temporary), folder, name).map_err(
            |fault| match fault {
                StoreError::Io { cause, .. } => {
                    StoreError::io("make", &folder.path().join(name), cause)
                }
                other => other,
            },
        )?;
        self.is_pending = false;
        Ok(())
    }
}

impl<F: Borrow<Folder>> Drop for TemporaryFile<F> {
    fn drop(&mut self) {
        if self.is_pending {
            // If this fails, a later sweep removes it.
            let _ = self.folder().remove(&*self.temporary);
        }
    }
}
