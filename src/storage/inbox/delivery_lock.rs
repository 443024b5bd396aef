//! The right to work on a taken file: whoever has it reads, counts or refuses the file, and nobody else does.
//!
//! An flock on the file itself, which the system takes back when its holder ends, however it ends; so what is not held was left
//! by somebody who is gone, or waits. It goes with the file wherever that is moved, hence the second look at the name.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::inbox::{Inbox, Taken};
use crate::storage::layout::TAKEN;
use crate::storage::{FileStat, Folder, StoreError};

/// How long others are waited for who put a refused file into its place, which takes two files' time on the disk.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// A file, or a folder, that is ours until this is dropped.
#[derive(Debug)]
pub struct Held(File);

impl Drop for Held {
    fn drop(&mut self) {
        // Closing the file would do, but for a process that is just being started and still has a copy of it.
        let _ = fs4::FileExt::unlock(&self.0);
    }
}

impl Inbox<'_> {
    /// Returns the right to work on a taken file; `None` where another process has it, or where the file is gone.
    pub fn hold(&self, taken: &Taken) -> Result<Option<Held>, StoreError> {
        let at_work = self.folder(TAKEN)?;
        let name = &taken.item.name;
        let Some((file, metadata)) = at_work.open_to_read(name)? else { return Ok(None) };
        let Some(held) = attempt(file, &at_work.path().join(name))? else { return Ok(None) };
        // Whoever had it until now may have put it where it belongs since it was opened.
        let standing = at_work.stat(name)?;
        Ok(standing.is_some_and(|now| now.inode == FileStat::of(&metadata).inode).then_some(held))
    }
}

/// Has a folder for oneself, waiting for whoever else has.
pub(crate) fn alone_in(folder: &Folder) -> Result<Held, StoreError> {
    let start = Instant::now();
    loop {
        let handle = folder
            .handle
            .try_clone()
            .map_err(|cause| StoreError::io("lock", folder.path(), cause))?;
        if let Some(held) = attempt(handle, folder.path())? {
            return Ok(held);
        }
        let waited = start.elapsed();
        if waited >= PATIENCE {
            return Err(StoreError::LockTimedOut {
                path: folder.path().to_owned(),
                waited,
                holder: None,
            });
        }
        thread::sleep(PAUSE);
    }
}

fn attempt(file: File, path: &Path) -> Result<Option<Held>, StoreError> {
    match fs4::FileExt::try_lock(&file) {
        Ok(()) => Ok(Some(Held(file))),
        Err(fs4::TryLockError::WouldBlock) => Ok(None),
        Err(fs4::TryLockError::Error(cause)) => Err(StoreError::io("lock", path, cause)),
    }
}
