//! A folder held open: its files are accessed through its handle, so no symlink can redirect them.
//!
//! Any file that is not ordinary is refused without opening it: opening can block, or start a device.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, Metadata};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use serde::de::DeserializeOwned;

use super::error::{FileKind, FileStat};
use super::error::{OrIo, StoreError};
use crate::system::disk::{self, SyncPart, Unsynced};

/// The number of attempts to read a file that changes meanwhile.
const READ_ATTEMPTS: usize = 3;
/// The largest file of our own JSON that is read.
const JSON_LIMIT: u64 = 16 * 1024 * 1024;

/// A folder of the project, held open.
#[derive(Debug)]
pub struct Folder {
    pub(crate) handle: Arc<File>,
    path: PathBuf,
}

impl Folder {
    /// Opens a folder below the project's root. A symlink on the way there is refused.
    pub(crate) fn open(root: &Path, inside: &str) -> Result<Self, StoreError> {
        let mut parts = parts(inside);
        let Some(first) = parts.next() else { return Self::root(root) };
        let path = root.join(first);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match rustix::fs::openat(CWD, &path, flags, Mode::empty()) {
            Ok(handle) => Self::held(handle, path),
            // The second attempt shows whether the root or the folder is at fault.
            Err(_) => Self::root(root)?.child(first)?,
        };
        parts.try_fold(folder, |folder, name| folder.child(name))
    }

    fn held(handle: OwnedFd, path: PathBuf) -> Self {
        Self { handle: Arc::new(handle.into()), path }
    }

    /// Opens a folder below the project's root, and creates its missing parts.
    pub(crate) fn create(root: &Path, inside: &str) -> Result<Self, StoreError> {
        match Self::open(root, inside) {
            Err(StoreError::Gone { .. }) => parts(inside)
                .try_fold(Self::root(root)?, |folder, name| folder.child_or_new(name, 0o777)),
            opened => opened,
        }
    }

    /// Opens a folder below the project's root; `None` if it is missing.
    pub(crate) fn open_existing(root: &Path, inside: &str) -> Result<Option<Self>, StoreError> {
        match Self::open(root, inside) {
            Ok(folder) => Ok(Some(folder)),
            Err(StoreError::Gone { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    fn root(root: &Path) -> Result<Self, StoreError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::openat(CWD, root, flags, Mode::empty()) {
            Ok(handle) => Ok(Self::held(handle, root.to_owned())),
            Err(cause) => Err(StoreError::io("open the folder", root, cause)),
        }
    }

    pub(crate) fn child(&self, name: &str) -> Result<Self, StoreError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = self.path.join(name);
        match rustix::fs::openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => Ok(Self::held(handle, path)),
            Err(Errno::NOENT) => Err(StoreError::Gone { path }),
            Err(cause) => match self.kind(name)? {
                Some(found) if found != FileKind::Folder => {
                    Err(StoreError::WrongKind { path, found, wanted: FileKind::Folder })
                }
                _ => Err(StoreError::io("open the folder", &path, cause)),
            },
        }
    }

    /// Opens a folder in this one that only its owner can read; creates it if it is missing.
    pub(crate) fn private_child(&self, name: &str) -> Result<Self, StoreError> {
        self.child_or_new(name, 0o700)
    }

    pub(crate) fn child_or_new(&self, name: &str, mode: u32) -> Result<Self, StoreError> {
        match self.child(name) {
            Err(StoreError::Gone { path }) => {
                match rustix::fs::mkdirat(&self.handle, name, Mode::from_raw_mode(mode)) {
                    Ok(()) => self.sync()?,
                    Err(Errno::EXIST) => {}
                    Err(cause) => return Err(StoreError::io("make the folder", &path, cause)),
                }
                self.child(name)
            }
            other => other,
        }
    }

    /// Returns the path that the folder was opened by.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the kind of file of that name, without following links or opening it.
    pub(crate) fn kind(&self, name: impl AsRef<OsStr>) -> Result<Option<FileKind>, StoreError> {
        Ok(self.raw_mode(name.as_ref())?.map(|mode| FileType::from_raw_mode(mode).into()))
    }

    /// Returns the permissions of a file; `None` if the name is free.
    pub(crate) fn permissions(&self, name: &OsStr) -> Result<Option<Mode>, StoreError> {
        let Some(mode) = self.raw_mode(name)? else { return Ok(None) };
        self.expect_file(name, FileType::from_raw_mode(mode).into())?;
        Ok(Some(Mode::from_raw_mode(mode & 0o7777)))
    }

    fn raw_mode(&self, name: &OsStr) -> Result<Option<u32>, StoreError> {
        match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat.st_mode)),
            Err(Errno::NOENT) => Ok(None),
            Err(cause) => Err(StoreError::io("look at", &self.path.join(name), cause)),
        }
    }

    fn expect_file(&self, name: &OsStr, found: FileKind) -> Result<(), StoreError> {
        let wanted = FileKind::File;
        if found == wanted {
            return Ok(());
        }
        Err(StoreError::WrongKind { path: self.path.join(name), found, wanted })
    }

    /// Returns a file's metadata; `None` if the name is free.
    pub(crate) fn stat(&self, name: impl AsRef<OsStr>) -> Result<Option<FileStat>, StoreError> {
        Ok(self.open_to_read(name)?.map(|(_, metadata)| FileStat::of(&metadata)))
    }

    /// Opens a file for reading; `None` if the name is free.
    pub(crate) fn open_to_read(
        &self,
        name: impl AsRef<OsStr>,
    ) -> Result<Option<(File, Metadata)>, StoreError> {
        self.open_file(name.as_ref(), OFlags::RDONLY)
    }

    /// Opens an existing file for reading and writing; `None` if the name is free.
    pub(crate) fn open_to_write(&self, name: &str) -> Result<Option<(File, Metadata)>, StoreError> {
        self.open_file(OsStr::new(name), OFlags::RDWR)
    }

    /// Opens a file to append; creates it if it is missing.
    pub(crate) fn open_to_append(&self, name: &str) -> Result<File, StoreError> {
        self.open_or_make(name, OFlags::WRONLY | OFlags::APPEND)
    }

    /// Opens a lock file; creates it if it is missing.
    pub(crate) fn open_lock(&self, name: &str) -> Result<File, StoreError> {
        self.open_or_make(name, OFlags::RDWR)
    }

    fn open_file(
        &self,
        name: &OsStr,
        access: OFlags,
    ) -> Result<Option<(File, Metadata)>, StoreError> {
        let Some(kind) = self.kind(name)? else { return Ok(None) };
        self.expect_file(name, kind)?;
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file: File = match rustix::fs::openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => handle.into(),
            Err(Errno::NOENT) => return Ok(None),
            Err(cause) => return Err(StoreError::io("open", &self.path.join(name), cause)),
        };
        // The file may have been replaced since the first check.
        let metadata = self.metadata(&file, name)?;
        self.expect_file(name, metadata.file_type().into())?;
        Ok(Some((file, metadata)))
    }

    fn open_or_make(&self, name: &str, access: OFlags) -> Result<File, StoreError> {
        if let Some(kind) = self.kind(name)? {
            self.expect_file(OsStr::new(name), kind)?;
        }
        let flags = access | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(&self.handle, name, flags, Mode::from_raw_mode(0o666))
            .map(File::from)
            .or_io("open", self.path.join(name))
    }

    /// Creates a file that only its owner can read, and opens it for writing. Fails if it exists. Syncs nothing.
    pub(crate) fn create_private(&self, name: &str) -> Result<File, StoreError> {
        let path = self.path.join(name);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.handle, name, flags, Mode::from_raw_mode(0o600)) {
            Ok(file) => Ok(file.into()),
            Err(Errno::EXIST) => Err(StoreError::Exists { path }),
            Err(cause) => Err(StoreError::io("make", &path, cause)),
        }
    }

    fn metadata(&self, file: &File, name: &OsStr) -> Result<Metadata, StoreError> {
        file.metadata().or_io("look at", self.path.join(name))
    }

    /// Reads a whole file of at most that many bytes; `None` if the name is free. Never blocks.
    pub(crate) fn read(
        &self,
        name: impl AsRef<OsStr>,
        limit: u64,
    ) -> Result<Option<(Vec<u8>, FileStat)>, StoreError> {
        let name = name.as_ref();
        let path = self.path.join(name);
        for _ in 0..READ_ATTEMPTS {
            let Some((file, metadata)) = self.open_to_read(name)? else { return Ok(None) };
            let before = FileStat::of(&metadata);
            if before.size > limit {
                return Err(StoreError::TooLarge { path, size: before.size, limit });
            }
            let expected = usize::try_from(before.size).unwrap_or(0);
            let bytes = disk::read_expected(&file, expected).or_io("read", &path)?;
            let size = bytes.len() as u64;
            // Another program may write in place, and bytes of two versions would be mixed. (The ctime also changes if another
            // file takes the name, which is harmless.)
            let after = FileStat::of(&self.metadata(&file, name)?);
            if after.mtime == before.mtime && after.size == before.size && before.size == size {
                return Ok(Some((bytes, before)));
            }
        }
        Err(StoreError::Unsteady { path })
    }

    /// Reads a JSON file of our own; `None` if it is missing or damaged.
    pub(crate) fn read_json<T: DeserializeOwned>(
        &self,
        name: impl AsRef<OsStr>,
    ) -> Result<Option<T>, StoreError> {
        let read = self.read(name, JSON_LIMIT)?;
        Ok(read.and_then(|(bytes, _)| serde_json::from_slice(&bytes).ok()))
    }

    /// Renames a file, here or into another folder. Fails if the name is taken.
    pub(crate) fn move_new(
        &self,
        from: &OsStr,
        to: &Folder,
        name: &OsStr,
    ) -> Result<(), StoreError> {
        let renamed =
            rustix::fs::renameat_with(&self.handle, from, &to.handle, name, RenameFlags::NOREPLACE);
        let outcome = match renamed {
            // Some file systems do not support that; for files, a hard link has the same effect.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::linkat(&self.handle, from, &to.handle, name, AtFlags::empty())
                    .and_then(|()| rustix::fs::unlinkat(&self.handle, from, AtFlags::empty()))
            }
            other => other,
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(StoreError::Exists { path: to.path.join(name) }),
            Err(Errno::NOENT) => Err(StoreError::Gone { path: self.path.join(from) }),
            Err(cause) => Err(StoreError::io("move", &self.path.join(from), cause)),
        }
    }

    /// Removes a file. A missing file is not an error.
    pub(crate) fn remove(&self, name: impl AsRef<OsStr>) -> Result<(), StoreError> {
        let name = name.as_ref();
        match rustix::fs::unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(cause) => Err(StoreError::io("remove", &self.path.join(name), cause)),
        }
    }

    /// Syncs the names in this folder.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        Ok(disk::sync(vec![self.unsynced()])?)
    }

    /// Returns this folder for a sync of its names.
    pub(crate) fn unsynced(&self) -> Unsynced {
        Unsynced::new(Arc::clone(&self.handle), &self.path, SyncPart::Names)
    }

    /// Syncs a file that was written as volatile, and its name. Returns whether it exists.
    pub(crate) fn sync_file(&self, name: &str) -> Result<bool, StoreError> {
        let Some((file, _)) = self.open_to_read(name)? else { return Ok(false) };
        file.sync_all().or_io("flush to disk", self.path.join(name))?;
        self.sync().map(|()| true)
    }
}

/// Returns the entries of a folder, unordered; none if it is missing. Fails if the path or its parent is not a folder.
pub(crate) fn list(folder: &Path) -> Result<Vec<DirEntry>, StoreError> {
    let fault = |cause| StoreError::io("list the folder", folder, cause);
    match fs::read_dir(folder) {
        Ok(listing) => listing.collect::<Result<_, _>>().map_err(fault),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(cause) if cause.kind() == ErrorKind::NotADirectory => {
            let no_folder = folder.ancestors().take(2).find_map(|path| {
                let kind = FileKind::from(path.symlink_metadata().ok()?.file_type());
                (kind != FileKind::Folder).then(|| (path.to_owned(), kind))
            });
            let (path, found) = no_folder.ok_or_else(|| fault(cause))?;
            Err(StoreError::WrongKind { path, found, wanted: FileKind::Folder })
        }
        Err(cause) => Err(fault(cause)),
    }
}

fn parts(inside: &str) -> impl Iterator<Item = &str> {
    inside.split('/').filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::storage::fs::temporary_file::{Durability, TemporaryFile};

    #[test]
    fn a_name_that_is_taken_is_not_moved_over() {
        let home = TempDir::new().unwrap();
        let folder = Folder::create(home.path(), "a/b").unwrap();
        let other = Folder::create(home.path(), "c").unwrap();
        fs::write(home.path().join("a/b/x"), "mine").unwrap();
        fs::write(home.path().join("c/y"), "theirs").unwrap();
        let outcome = folder.move_new("x".as_ref(), &other, "y".as_ref());
        assert!(matches!(outcome, Err(StoreError::Exists { .. })));
        assert_eq!(fs::read(home.path().join("a/b/x")).unwrap(), b"mine");
        assert_eq!(fs::read(home.path().join("c/y")).unwrap(), b"theirs");
        // The name was free when the file was staged.
        let mut staged = TemporaryFile::new(&folder, "new", b"late", Durability::Durable).unwrap();
        fs::write(home.path().join("a/b/new"), "early").unwrap();
        assert!(matches!(staged.create("new"), Err(StoreError::Exists { .. })));
        drop(staged);
        assert_eq!(fs::read(home.path().join("a/b/new")).unwrap(), b"early");
        folder.move_new("x".as_ref(), &other, "x".as_ref()).unwrap();
        assert!(matches!(
            folder.move_new("x".as_ref(), &other, "z".as_ref()),
            Err(StoreError::Gone { .. })
        ));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_folder_stays_itself_when_its_path_is_exchanged() {
        let (home, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let folder = Folder::create(home.path(), "tasks").unwrap();
        fs::rename(home.path().join("tasks"), home.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), home.path().join("tasks")).unwrap();
        folder.replace("x", b"text", Durability::Durable).unwrap();
        assert_eq!(fs::read(home.path().join("moved/x")).unwrap(), b"text");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        assert!(matches!(
            Folder::create(home.path(), "tasks/deep"),
            Err(StoreError::WrongKind { .. })
        ));
    }
}
