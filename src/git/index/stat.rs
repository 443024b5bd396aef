//! Stat data as git keeps it beside an entry, so that `git status` need not read the file again.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use crate::git::id::ObjectId;
use crate::git::objects::git_file::read_to_end;
use crate::git::objects::loose::{Kind, name};
use crate::git::repository::handle::Repository;

/// The ten words that start an entry, but for the mode: git cuts each to 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub created: [u32; 2],
    pub modified: [u32; 2],
    pub device: u32,
    pub inode: u32,
    pub user: u32,
    pub group: u32,
    pub size: u32,
}

impl Stat {
    /// Makes git read the file before it believes anything.
    pub(crate) const UNKNOWN: Self =
        Self { created: [0; 2], modified: [0; 2], device: 0, inode: 0, user: 0, group: 0, size: 0 };

    pub(crate) fn modified(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::new(u64::from(self.modified[0]), self.modified[1])
    }
}

/// Returns a file's stat data if it holds the blob; else git has to look for itself.
pub(crate) fn of_clean_file(
    repository: &Repository,
    full_path: &str,
    blob: ObjectId,
) -> Option<Stat> {
    let path = repository.worktree_root().join(full_path);
    if !fs::symlink_metadata(&path).ok()?.is_file() {
        return None;
    }
    let file = File::open(&path).ok()?;
    // Before the content: whoever writes in between changes the stat data too, and git looks again.
    let data = file.metadata().ok()?;
    let bytes = read_to_end(&file, usize::try_from(data.len()).ok()?).ok()?;
    (name(Kind::Blob, &bytes) == blob).then(|| of_metadata(&data))
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "git keeps the low 32 bits"
)]
fn of_metadata(data: &fs::Metadata) -> Stat {
    Stat {
        created: [data.ctime() as u32, data.ctime_nsec() as u32],
        modified: [data.mtime() as u32, data.mtime_nsec() as u32],
        device: data.dev() as u32,
        inode: data.ino() as u32,
        user: data.uid(),
        group: data.gid(),
        size: data.size() as u32,
    }
}
