//! How a file in a folder is opened: never through a symlink, and never what is no ordinary file, for that can block, or wake a program.

use std::ffi::OsStr;
use std::fs::{File, Metadata};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::storage::{Folder, Kind, StoreError};

impl Folder {
    /// Makes a file that must not exist yet, which only its owner can read, and opens it for writing. Nothing is synced.
    pub(crate) fn create_private(&self, name: &str) -> Result<File, StoreError> {
        let path = self.path().join(name);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.handle, name, flags, Mode::from_raw_mode(0o600)) {
            Ok(file) => Ok(file.into()),
            Err(Errno::EXIST) => Err(StoreError::Exists { path }),
            Err(cause) => Err(StoreError::io("make", &path, cause)),
        }
    }

    /// Opens a file for reading.
    pub(crate) fn open_to_read(
        &self,
        name: impl AsRef<OsStr>,
    ) -> Result<Option<(File, Metadata)>, StoreError> {
        self.open_with(name.as_ref(), OFlags::RDONLY)
    }

    /// Opens a file that is there for reading and writing.
    pub(crate) fn open_to_write(&self, name: &str) -> Result<Option<(File, Metadata)>, StoreError> {
        self.open_with(OsStr::new(name), OFlags::RDWR)
    }

    /// Opens a file; what is no ordinary file is refused without opening it, for an open can block or wake a program.
    fn open_with(
        &self,
        name: &OsStr,
        access: OFlags,
    ) -> Result<Option<(File, Metadata)>, StoreError> {
        let path = self.path().join(name);
        match self.kind(name)? {
            None => return Ok(None),
            Some(Kind::File) => {}
            Some(found) => return Err(StoreError::WrongKind { path, found, wanted: Kind::File }),
        }
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file: File = match rustix::fs::openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => handle.into(),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => {
                return Err(StoreError::WrongKind {
                    path,
                    found: Kind::Symlink,
                    wanted: Kind::File,
                });
            }
            Err(cause) => return Err(StoreError::io("open", &path, cause)),
        };
        // It may have been swapped since the look.
        let metadata = self.metadata(&file, name)?;
        match Kind::from(metadata.file_type()) {
            Kind::File => Ok(Some((file, metadata))),
            found => Err(StoreError::WrongKind { path, found, wanted: Kind::File }),
        }
    }

    /// Opens a file to add to its end, making it if need be.
    pub(crate) fn open_to_append(&self, name: &str) -> Result<File, StoreError> {
        self.open_or_make(name, OFlags::WRONLY | OFlags::APPEND)
    }

    /// Opens the file that a lock is put on, making it if need be.
    pub(crate) fn open_lock(&self, name: &str) -> Result<File, StoreError> {
        self.open_or_make(name, OFlags::RDWR)
    }

    fn open_or_make(&self, name: &str, access: OFlags) -> Result<File, StoreError> {
        let path = self.path().join(name);
        match self.kind(name)? {
            None | Some(Kind::File) => {}
            Some(found) => return Err(StoreError::WrongKind { path, found, wanted: Kind::File }),
        }
        let flags = access | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(&self.handle, name, flags, Mode::from_raw_mode(0o666))
            .map(File::from)
            .map_err(|cause| StoreError::io("open", &path, cause))
    }

    /// Returns what the system tells of a file that was opened under that name.
    pub(crate) fn metadata(&self, file: &File, name: &OsStr) -> Result<Metadata, StoreError> {
        file.metadata().map_err(|cause| StoreError::io("look at", &self.path().join(name), cause))
    }
}
