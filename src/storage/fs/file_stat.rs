//! What the system tells of a file without reading it: whether it is likely to be the one that was read.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// What the system tells of a file without reading it. Different: the file was touched. Equal: it is probably the same, no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStat {
    /// When the content was written, in nanoseconds since 1970. Anybody can set it.
    pub mtime: i64,
    /// When the file was touched in any way, in nanoseconds since 1970.
    pub ctime: i64,
    /// How many bytes it has.
    pub size: u64,
    /// Its number on the file system.
    pub inode: u64,
}

impl FileStat {
    /// Returns what the system told.
    pub fn of(metadata: &Metadata) -> Self {
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
