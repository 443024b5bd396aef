//! A folder held open: everything in it is reached through its handle, so no symlink can lead elsewhere in between.
//!
//! Files are replaced whole: temporary file, fsync, rename, fsync of the folder. A kill leaves the old file or the new one,
//! and at most a temporary file, whose name begins with `.aof-tmp-`. A failed fsync is not tried again: the second try would
//! succeed without having written anything.

pub(crate) mod temporary_file;

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::storage::{FileStat, Kind, StoreError};
use crate::system::disk;
use crate::system::disk::{Part, Unsynced};
use temporary_file::Staged;

/// How often a file is read again that changes while it is read.
const READ_ATTEMPTS: usize = 3;

/// A folder of the project, held open.
#[derive(Debug)]
pub struct Folder {
    pub(crate) handle: File,
    path: PathBuf,
}

/// What a folder does to have a file survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The bytes are on the disk before the name is, and the name before the call returns.
    Durable,
    /// Whole after a kill; after a power cut it may be old or damaged. For what can be made again.
    Volatile,
}

impl Folder {
    /// Opens a folder below the project's root. A symlink on the way there is refused.
    pub fn open(root: &Path, inside: &str) -> Result<Self, StoreError> {
        parts(inside).try_fold(Self::top(root)?, |folder, name| folder.child(name))
    }

    /// Opens a folder below the project's root, making what is missing of it.
    pub fn create(root: &Path, inside: &str) -> Result<Self, StoreError> {
        parts(inside).try_fold(Self::top(root)?, |folder, name| folder.child_or_new(name))
    }

    /// Opens a folder below the project's root if it is there.
    pub fn open_existing(root: &Path, inside: &str) -> Result<Option<Self>, StoreError> {
        match Self::open(root, inside) {
            Ok(folder) => Ok(Some(folder)),
            Err(StoreError::Gone { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    fn top(root: &Path) -> Result<Self, StoreError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::openat(CWD, root, flags, Mode::empty()) {
            Ok(handle) => Ok(Self { handle: handle.into(), path: root.to_owned() }),
            Err(cause) => Err(StoreError::io("open the folder", root, cause)),
        }
    }

    pub(crate) fn child(&self, name: &str) -> Result<Self, StoreError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = self.path.join(name);
        match rustix::fs::openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => Ok(Self { handle: handle.into(), path }),
            Err(Errno::NOENT) => Err(StoreError::Gone { path }),
            Err(cause) => match self.kind(name)? {
                Some(found) if found != Kind::Folder => {
                    Err(StoreError::WrongKind { path, found, wanted: Kind::Folder })
                }
                _ => Err(StoreError::io("open the folder", &path, cause)),
            },
        }
    }

    fn child_or_new(&self, name: &str) -> Result<Self, StoreError> {
        self.child_or_made(name, Mode::from_raw_mode(0o777))
    }

    /// Opens a folder in this one that only its owner can look into, making it if it is missing.
    pub(crate) fn private_child(&self, name: &str) -> Result<Self, StoreError> {
        self.child_or_made(name, Mode::from_raw_mode(0o700))
    }

    fn child_or_made(&self, name: &str, mode: Mode) -> Result<Self, StoreError> {
        match self.child(name) {
            Err(StoreError::Gone { path }) => {
                match rustix::fs::mkdirat(&self.handle, name, mode) {
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
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what stands there under that name, without following or opening it.
    pub fn kind(&self, name: impl AsRef<OsStr>) -> Result<Option<Kind>, StoreError> {
        let name = name.as_ref();
        match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode).into())),
            Err(Errno::NOENT) => Ok(None),
            Err(cause) => Err(StoreError::io("look at", &self.path.join(name), cause)),
        }
    }

    /// Returns what the system tells of a file; `None` when nothing has that name.
    pub fn stat(&self, name: impl AsRef<OsStr>) -> Result<Option<FileStat>, StoreError> {
        Ok(self.open_to_read(name)?.map(|(_, metadata)| FileStat::of(&metadata)))
    }

    /// Reads a whole file of at most that many bytes; `None` when nothing has that name. Never blocks: what is no file is refused unopened.
    pub fn read(
        &self,
        name: impl AsRef<OsStr>,
        limit: u64,
    ) -> Result<Option<(Vec<u8>, FileStat)>, StoreError> {
        let name = name.as_ref();
        let path = self.path.join(name);
        for _ in 0..READ_ATTEMPTS {
            let Some((file, metadata)) = self.open_to_read(name)? else {
                return Ok(None);
            };
            let before = FileStat::of(&metadata);
            let too_large = |size| StoreError::TooLarge { path: path.clone(), size, limit };
            if before.size > limit {
                return Err(too_large(before.size));
            }
            // What grows meanwhile, or tells no size, ends there too.
            let bytes = read_at_most(&file, limit + 1, usize::try_from(before.size).unwrap_or(0))
                .map_err(|cause| StoreError::io("read", &path, cause))?;
            let size = bytes.len() as u64;
            if size > limit {
                return Err(too_large(size));
            }
            // Somebody may write in place: bytes of two versions are worse than none. (The ctime also changes when another
            // file takes the name, which harms nothing.)
            let after = FileStat::of(&self.metadata(&file, name)?);
            if after.mtime == before.mtime && after.size == before.size && before.size == size {
                return Ok(Some((bytes, before)));
            }
        }
        Err(StoreError::Unsteady { path })
    }

    /// Replaces a file, or makes it, keeping its mode bits.
    pub fn replace(
        &self,
        name: &str,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), StoreError> {
        Staged::new(self, name, bytes, durability)?.replace(name)?;
        match durability {
            Durability::Durable => self.sync(),
            Durability::Volatile => Ok(()),
        }
    }

    /// Makes a file that must not exist yet, durably.
    pub fn create_new(&self, name: impl AsRef<OsStr>, bytes: &[u8]) -> Result<(), StoreError> {
        let name = name.as_ref();
        if self.kind(name)?.is_some() {
            return Err(StoreError::Exists { path: self.path.join(name) });
        }
        Staged::new(self, name, bytes, Durability::Durable)?.create(name)?;
        self.sync()
    }

    /// Renames a file, here or into another folder. A name that is taken there stays as it is.
    pub fn move_new(&self, from: &OsStr, to: &Folder, name: &OsStr) -> Result<(), StoreError> {
        let outcome =
            rustix::fs::renameat_with(&self.handle, from, &to.handle, name, RenameFlags::NOREPLACE);
        let outcome = match outcome {
            // Some file systems know no such rename: a second link is as good, for files.
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

    /// Removes a file; one that is gone already is as good.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> Result<(), StoreError> {
        let name = name.as_ref();
        match rustix::fs::unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(cause) => Err(StoreError::io("remove", &self.path.join(name), cause)),
        }
    }

    /// Has the names in this folder survive a power cut.
    pub fn sync(&self) -> Result<(), StoreError> {
        Ok(disk::sync(vec![self.unsynced()?])?)
    }

    /// Returns this folder as one whose names are still to be synced.
    pub fn unsynced(&self) -> Result<Unsynced, StoreError> {
        Unsynced::new(&self.handle, &self.path, Part::Names)
            .map_err(|cause| StoreError::io("hold open", &self.path, cause))
    }

    /// Has a file that was written volatile survive a power cut, with its name. Returns whether it is there.
    pub fn sync_file(&self, name: &str) -> Result<bool, StoreError> {
        let Some((file, _)) = self.open_to_read(name)? else { return Ok(false) };
        file.sync_all()
            .map_err(|cause| StoreError::io("flush to disk", &self.path.join(name), cause))?;
        self.sync().map(|()| true)
    }

    pub(crate) fn mode(&self, name: &OsStr) -> Result<Option<Mode>, StoreError> {
        match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode).into() {
                Kind::File => {
                    Ok(Some(Mode::from_raw_mode(stat.st_mode) & Mode::from_raw_mode(0o7777)))
                }
                found => Err(StoreError::WrongKind {
                    path: self.path.join(name),
                    found,
                    wanted: Kind::File,
                }),
            },
            Err(Errno::NOENT) => Ok(None),
            Err(cause) => Err(StoreError::io("look at", &self.path.join(name), cause)),
        }
    }
}

/// Reads a file to its end, or that many bytes of it. A read that brings less than it may is the last one: with a byte of room
/// more than the file is said to have, one call does it.
fn read_at_most(file: &File, limit: u64, expected: usize) -> rustix::io::Result<Vec<u8>> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(expected + 1);
    while bytes.len() < limit {
        let room = bytes.capacity() - bytes.len();
        match rustix::io::read(file, spare_capacity(&mut bytes)) {
            Ok(read) if read < room => break,
            Ok(_) => bytes.reserve(bytes.len()),
            Err(Errno::INTR) => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(bytes)
}

fn parts(inside: &str) -> impl Iterator<Item = &str> {
    inside.split('/').filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

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
        let mut staged = Staged::new(&folder, "new", b"late", Durability::Durable).unwrap();
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
