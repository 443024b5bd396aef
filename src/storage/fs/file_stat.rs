//! What the system tells of a file without reading it: its kind, size and times.

use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;

use rustix::fs::FileType;

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    File,
    Folder,
    Symlink,
    /// A named pipe, a socket, a device.
    Special,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Symlink => "a symbolic link",
            Self::Special => "a pipe, socket or device",
        })
    }
}

impl From<FileType> for FileKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Symlink,
            _ => Self::Special,
        }
    }
}

impl From<fs::FileType> for FileKind {
    fn from(kind: fs::FileType) -> Self {
        match kind {
            _ if kind.is_file() => Self::File,
            _ if kind.is_dir() => Self::Folder,
            _ if kind.is_symlink() => Self::Symlink,
            _ => Self::Special,
        }
    }
}

/// What tells two versions of a file apart without reading it. Different: the file was touched. Equal: it is probably the
/// same, no more. Times are in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStat {
    /// When the content was written. Anybody can set it.
    pub mtime: i64,
    /// When the file was touched in any way.
    pub ctime: i64,
    pub size: u64,
    pub inode: u64,
}

impl FileStat {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            mtime: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            ctime: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            size: metadata.size(),
            inode: metadata.ino(),
        }
    }
}
