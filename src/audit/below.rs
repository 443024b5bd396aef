//! Files of the worktree, reached from its root from folder to folder, each held open: what is behind a link is neither looked at
//! nor touched, and nothing takes the place of what nobody has looked at.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawMode, RenameFlags, Stat};
use rustix::io::Errno;

use super::error::{At, AuditError};
use super::id::ObjectId;
use super::objects::{name_of_file, nonce};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A worktree, held open.
pub(super) struct Below {
    root: File,
    path: PathBuf,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    File(Seen),
    Link(Seen),
    Folder,
    /// A pipe, a socket, a device.
    Strange,
    /// Nobody knows: what stands at this path above it is no folder.
    Behind(String),
}

/// How a file or link looked: who finds it like that finds what was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    file: [i128; 2],
    size: i128,
    times: [i128; 4],
    mode: RawMode,
}

/// What is above a path.
enum Way {
    Open(File),
    Missing,
    Behind(String),
}

impl Seen {
    fn of(stat: &Stat) -> Self {
        let times = [stat.st_mtime.into(), stat.st_mtime_nsec.into(), stat.st_ctime.into(), stat.st_ctime_nsec.into()];
        let file = [stat.st_dev.into(), stat.st_ino.into()];
        Self { file, size: stat.st_size.into(), times, mode: stat.st_mode }
    }

    /// Says whether its owner may run it.
    pub(super) fn is_program(self) -> bool {
        Mode::from_raw_mode(self.mode).contains(Mode::XUSR)
    }
}

impl Found {
    fn of(stat: &Stat) -> Self {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Self::File(Seen::of(stat)),
            FileType::Symlink => Self::Link(Seen::of(stat)),
            FileType::Directory => Self::Folder,
            _ => Self::Strange,
        }
    }

    /// Returns how it looked, where it is a file or a link.
    pub(super) const fn seen(&self) -> Option<Seen> {
        match self {
            Self::File(seen) | Self::Link(seen) => Some(*seen),
            _ => None,
        }
    }
}

impl Below {
    pub(super) fn open(root: &Path) -> Result<Self, AuditError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(root, flags, Mode::empty()).map_err(io::Error::from).at("open", root)?;
        Ok(Self { root: handle.into(), path: root.to_owned() })
    }

    /// Returns what stands at a path.
    pub(super) fn found(&self, path: &str) -> Result<Found, AuditError> {
        let folder = match self.way(path).at("look at", &self.path.join(path))? {
            Way::Open(folder) => folder,
            Way::Missing => return Ok(Found::Nothing),
            Way::Behind(above) => return Ok(Found::Behind(above)),
        };
        found_in(&folder, name(path)).at("look at", &self.path.join(path))
    }

    /// Returns the name that git gives to what a file says as it is, or to where a link leads.
    pub(super) fn blob(&self, path: &str, seen: Seen) -> io::Result<Option<ObjectId>> {
        let Way::Open(folder) = self.way(path)? else { return Ok(None) };
        if FileType::from_raw_mode(seen.mode) == FileType::Symlink {
            let target = rustix::fs::readlinkat(&folder, name(path), Vec::new())?;
            return name_of_file(target.as_bytes(), target.as_bytes().len() as u64).map(Some);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&folder, name(path), flags, Mode::empty())?);
        if Seen::of(&rustix::fs::fstat(&file)?) != seen {
            return Ok(None);
        }
        let size = file.metadata()?.len();
        name_of_file(file, size).map(Some)
    }

    /// Gives a file that stands elsewhere its place: over what was seen there, or where nothing was. `InTheWay` says that it is not so.
    pub(super) fn put(&self, written: &Path, path: &str, over: Option<Seen>) -> Result<(), AuditError> {
        let place = self.path.join(path);
        let folder = self.folder_for(path)?;
        if over.is_none() {
            // An empty folder is nothing to git.
            let _ = rustix::fs::unlinkat(&folder, name(path), AtFlags::REMOVEDIR);
        } else if found_in(&folder, name(path)).at("look at", &place)?.seen() != over {
            return Err(in_the_way(path));
        }
        let moved = match rename(CWD, written, &folder, name(path), over) {
            // Another disk, or the same one mounted once more.
            Err(Errno::XDEV) => {
                let copy = copied(written, &folder).at("write", &place)?;
                let moved = rename(folder.as_fd(), Path::new(&copy), &folder, name(path), over);
                if moved.is_err() {
                    let _ = rustix::fs::unlinkat(&folder, copy, AtFlags::empty());
                }
                moved
            }
            other => other,
        };
        match moved {
            Err(Errno::EXIST) => Err(in_the_way(path)),
            other => other.map_err(io::Error::from).at("write", &place),
        }
    }

    /// Removes a file or link that looks as it was seen, and the folders above that it leaves empty, as git has it. `InTheWay` says
    /// that it looks otherwise.
    pub(super) fn remove(&self, path: &str, seen: Seen) -> Result<(), AuditError> {
        let place = self.path.join(path);
        let folder = match self.way(path).at("look at", &place)? {
            Way::Open(folder) => folder,
            Way::Missing => return Ok(()),
            Way::Behind(above) => return Err(in_the_way(&above)),
        };
        match found_in(&folder, name(path)).at("look at", &place)? {
            Found::Nothing => {}
            other if other.seen() == Some(seen) => {
                rustix::fs::unlinkat(&folder, name(path), AtFlags::empty())
                    .map_err(io::Error::from)
                    .at("remove", &place)?;
            }
            _ => return Err(in_the_way(path)),
        }
        self.remove_empty_above(path);
        Ok(())
    }

    /// Removes a folder unless something is in it, and those above that it leaves empty.
    pub(super) fn remove_empty(&self, path: &str) {
        if let Ok(Way::Open(folder)) = self.way(path)
            && rustix::fs::unlinkat(&folder, name(path), AtFlags::REMOVEDIR).is_ok()
        {
            self.remove_empty_above(path);
        }
    }

    /// Makes a folder where nothing stands.
    pub(super) fn make_folder(&self, path: &str) -> Result<(), AuditError> {
        let folder = self.folder_for(path)?;
        match rustix::fs::mkdirat(&folder, name(path), Mode::from_raw_mode(0o777)) {
            Err(Errno::EXIST) | Ok(()) => Ok(()),
            Err(error) => Err(io::Error::from(error)).at("make", &self.path.join(path)),
        }
    }

    fn remove_empty_above(&self, path: &str) {
        if let Some((above, _)) = path.rsplit_once('/') {
            self.remove_empty(above);
        }
    }

    /// Opens the folder that a path is to be in, making what is missing of it.
    fn folder_for(&self, path: &str) -> Result<File, AuditError> {
        let place = self.path.join(path);
        let mut folder = self.root.try_clone().at("open", &self.path)?;
        for (above, name) in folders_above(path) {
            if let Err(error) = rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777))
                && error != Errno::EXIST
            {
                return Err(io::Error::from(error)).at("make the folder of", &place);
            }
            folder = match rustix::fs::openat(&folder, name, FOLDER, Mode::empty()) {
                Ok(next) => next.into(),
                Err(Errno::NOTDIR | Errno::LOOP) => return Err(in_the_way(above)),
                Err(error) => return Err(io::Error::from(error)).at("open the folder of", &place),
            };
        }
        Ok(folder)
    }

    fn way(&self, path: &str) -> io::Result<Way> {
        let mut folder = self.root.try_clone()?;
        for (above, name) in folders_above(path) {
            folder = match rustix::fs::openat(&folder, name, FOLDER, Mode::empty()) {
                Ok(next) => next.into(),
                Err(Errno::NOENT) => return Ok(Way::Missing),
                Err(Errno::NOTDIR | Errno::LOOP) => return Ok(Way::Behind(above.to_owned())),
                Err(error) => return Err(error.into()),
            };
        }
        Ok(Way::Open(folder))
    }
}

/// Returns the folders above a path, each with its name in the one above it.
fn folders_above(path: &str) -> impl Iterator<Item = (&str, &str)> {
    path.match_indices('/').map(|(at, _)| (&path[..at], name(&path[..at])))
}

fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn found_in(folder: impl AsFd, name: &str) -> io::Result<Found> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Found::of(&stat)),
        Err(Errno::NOENT) => Ok(Found::Nothing),
        Err(error) => Err(error.into()),
    }
}

/// Renames a file to a name that nothing may have yet, or over what was seen there.
fn rename(from: BorrowedFd<'_>, old: &Path, folder: &File, name: &str, over: Option<Seen>) -> Result<(), Errno> {
    if over.is_some() {
        return rustix::fs::renameat(from, old, folder, name);
    }
    match rustix::fs::renameat_with(from, old, folder, name, RenameFlags::NOREPLACE) {
        // Some file systems know no such rename: a second link is as good.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            rustix::fs::linkat(from, old, folder, name, AtFlags::empty())?;
            rustix::fs::unlinkat(from, old, AtFlags::empty())
        }
        other => other,
    }
}

/// Copies a file or link into the folder where it is to be, under a name of its own, and has it survive a power cut.
fn copied(written: &Path, folder: &File) -> io::Result<String> {
    let name = format!(".aof-tmp-{}", nonce().map_err(|error| io::Error::other(error.to_string()))?);
    let data = fs::symlink_metadata(written)?;
    if data.is_symlink() {
        rustix::fs::symlinkat(fs::read_link(written)?, folder, &name)?;
        return Ok(name);
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(folder, &name, flags, Mode::from_raw_mode(0o600))?);
    let whole = io::copy(&mut File::open(written)?, &mut file)
        .and_then(|_| file.set_permissions(fs::Permissions::from_mode(data.permissions().mode())))
        .and_then(|()| file.sync_data());
    if let Err(error) = whole {
        let _ = rustix::fs::unlinkat(folder, &name, AtFlags::empty());
        return Err(error);
    }
    Ok(name)
}

fn in_the_way(path: &str) -> AuditError {
    AuditError::InTheWay { files: vec![path.to_owned()] }
}
