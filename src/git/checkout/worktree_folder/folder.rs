//! Files of the worktree, reached from its root from folder to folder, each held open: what is behind a link is not looked at, nor
//! touched (`placing`).

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;

use crate::git::error::{At, AuditError};
use crate::git::objects::id::ObjectId;
use crate::git::objects::loose::name_of_file;

pub(crate) const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A worktree, held open.
pub(crate) struct Below {
    pub(crate) root: File,
    pub(crate) path: PathBuf,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
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
pub(crate) struct Seen {
    file: [i128; 2],
    size: i128,
    times: [i128; 4],
    mode: RawMode,
}

/// What is above a path.
pub(crate) enum Way {
    Open(File),
    Missing,
    Behind(String),
}

impl Seen {
    fn of(stat: &Stat) -> Self {
        let times = [
            stat.st_mtime.into(),
            stat.st_mtime_nsec.into(),
            stat.st_ctime.into(),
            stat.st_ctime_nsec.into(),
        ];
        let file = [stat.st_dev.into(), stat.st_ino.into()];
        Self { file, size: stat.st_size.into(), times, mode: stat.st_mode }
    }

    /// Says whether its owner may run it.
    pub(crate) fn is_program(self) -> bool {
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
    pub(crate) const fn seen(&self) -> Option<Seen> {
        match self {
            Self::File(seen) | Self::Link(seen) => Some(*seen),
            _ => None,
        }
    }
}

impl Below {
    pub(crate) fn open(root: &Path) -> Result<Self, AuditError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(root, flags, Mode::empty())
            .map_err(io::Error::from)
            .at("open", root)?;
        Ok(Self { root: handle.into(), path: root.to_owned() })
    }

    /// Returns what stands at a path.
    pub(crate) fn found(&self, path: &str) -> Result<Found, AuditError> {
        let folder = match self.way(path).at("look at", &self.path.join(path))? {
            Way::Open(folder) => folder,
            Way::Missing => return Ok(Found::Nothing),
            Way::Behind(above) => return Ok(Found::Behind(above)),
        };
        found_in(&folder, name(path)).at("look at", &self.path.join(path))
    }

    /// Returns the name that git gives to what a file says as it is, or to where a link leads.
    pub(crate) fn blob(&self, path: &str, seen: Seen) -> io::Result<Option<ObjectId>> {
        let Way::Open(folder) = self.way(path)? else { return Ok(None) };
        if FileType::from_raw_mode(seen.mode) == FileType::Symlink {
            let target = rustix::fs::readlinkat(&folder, name(path), Vec::new())?;
            return name_of_file(target.as_bytes(), target.as_bytes().len() as u64).map(Some);
        }
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&folder, name(path), flags, Mode::empty())?);
        if Seen::of(&rustix::fs::fstat(&file)?) != seen {
            return Ok(None);
        }
        let size = file.metadata()?.len();
        name_of_file(file, size).map(Some)
    }

    pub(crate) fn way(&self, path: &str) -> io::Result<Way> {
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
pub(crate) fn folders_above(path: &str) -> impl Iterator<Item = (&str, &str)> {
    path.match_indices('/').map(|(at, _)| (&path[..at], name(&path[..at])))
}

pub(crate) fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

pub(crate) fn found_in(folder: impl AsFd, name: &str) -> io::Result<Found> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Found::of(&stat)),
        Err(Errno::NOENT) => Ok(Found::Nothing),
        Err(error) => Err(error.into()),
    }
}
