//! A file between being written and having its name. A kill in between leaves it under a name that begins with `.aof-tmp-`.

use std::borrow::Borrow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;

use rustix::fs::{Mode, OFlags};

use crate::storage::random::random_local;
use crate::storage::{Durability, Folder, StoreError};
use crate::system::disk;
use crate::system::disk::{Part, Unsynced};

/// What the names of all temporary files begin with.
pub(crate) const TEMPORARY: &str = ".aof-tmp-";

/// A file that is written but has no name of its own yet. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct Staged<F: Borrow<Folder>> {
    folder: F,
    temporary: String,
    file: File,
    durability: Durability,
    pending: bool,
}

impl<F: Borrow<Folder>> Staged<F> {
    /// Writes the bytes of a file under a temporary name, with the mode bits of the one that it is to replace. They start on
    /// their way to the disk, so that several staged files take hardly longer to get there than one.
    pub(crate) fn new(
        folder: F,
        name: impl AsRef<OsStr>,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<Self, StoreError> {
        let inside = folder.borrow();
        let mode = inside.mode(name.as_ref())?;
        let temporary = format!("{TEMPORARY}{}", random_local(16)?);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file: File =
            rustix::fs::openat(&inside.handle, &*temporary, flags, Mode::from_raw_mode(0o666))
                .map_err(|cause| StoreError::io("write in", inside.path(), cause))?
                .into();
        let target = inside.path().join(name.as_ref());
        let mut staged = Self { folder, temporary, file, durability, pending: true };
        if let Some(mode) = mode {
            rustix::fs::fchmod(&staged.file, mode)
                .map_err(|cause| StoreError::io("set the mode of", &target, cause))?;
        }
        staged.file.write_all(bytes).map_err(|cause| StoreError::io("write", &target, cause))?;
        if durability == Durability::Durable {
            disk::start(&staged.file);
        }
        Ok(staged)
    }

    /// Has whoever may read it run it as well.
    pub(crate) fn make_runnable(&self) -> Result<(), StoreError> {
        let fault = |cause| StoreError::io("set the mode in", self.folder().path(), cause);
        let mode = rustix::fs::fstat(&self.file).map_err(fault)?.st_mode;
        let runs = Mode::from_raw_mode(mode | (mode & 0o444) >> 2);
        rustix::fs::fchmod(&self.file, runs).map_err(fault)
    }

    /// Adds bytes to the file that is to have that name.
    pub(crate) fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.file
            .write_all(bytes)
            .map_err(|cause| StoreError::io("write", &self.folder().path().join(name), cause))
    }

    /// Returns the folder that the file is in.
    pub(crate) fn folder(&self) -> &Folder {
        self.folder.borrow()
    }

    /// Returns the file if it is a durable one that is not on the disk yet. Whoever takes it syncs it before it gets its name.
    pub(crate) fn unsynced(&mut self) -> Result<Option<Unsynced>, StoreError> {
        if self.durability == Durability::Volatile {
            return Ok(None);
        }
        let path = self.folder().path().join(&self.temporary);
        let file = Unsynced::new(&self.file, &path, Part::Everything)
            .map_err(|cause| StoreError::io("hold open", &path, cause))?;
        self.durability = Durability::Volatile;
        Ok(Some(file))
    }

    /// Has the bytes of a durable file survive a power cut.
    pub(crate) fn flush(&mut self) -> Result<(), StoreError> {
        if self.durability == Durability::Durable {
            let path = || self.folder().path().join(&self.temporary);
            self.file
                .sync_all()
                .map_err(|cause| StoreError::io("flush to disk", &path(), cause))?;
            self.durability = Durability::Volatile;
        }
        Ok(())
    }

    /// Gives the file its name, in place of whatever file has it.
    pub(crate) fn replace(&mut self, name: &str) -> Result<(), StoreError> {
        self.flush()?;
        let folder = self.folder();
        rustix::fs::renameat(&folder.handle, &*self.temporary, &folder.handle, name)
            .map_err(|cause| StoreError::io("replace", &folder.path().join(name), cause))?;
        self.pending = false;
        Ok(())
    }

    /// Gives the file its name if nothing has that name.
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
        self.pending = false;
        Ok(())
    }
}

impl<F: Borrow<Folder>> Drop for Staged<F> {
    fn drop(&mut self) {
        if self.pending {
            // What cannot be removed now is swept up later.
            let _ = self.folder().remove(&*self.temporary);
        }
    }
}
