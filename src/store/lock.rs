//! The writer lock: one writer per project. Holding a [`WriterLock`] is the right to change task files.
//!
//! An flock on `.aof/lock`, which the system takes back when its holder ends, however it ends. Never on a task file: a
//! rename slips out from under it. Whoever gets the lock checks that the path still is the file that was locked, for
//! somebody may have removed `.aof/`. A kill leaves the name of its holder in the file, which means nothing while the
//! lock is free. Not re-entrant: a second attempt in the same process waits like any other.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::filesystem::network_kind;
use super::layout::LOCAL;
use super::{Folder, Paths, StoreError};

const NAME: &str = "lock";
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// More than any record has; the rest of a foreign file is not read.
const RECORD_LIMIT: u64 = 4096;

/// Who holds the lock, in the words that others are shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// What it runs: `aof task complete`.
    pub command: String,
    /// Since when.
    pub since: Timestamp,
}

/// The right to write, until it is dropped.
#[derive(Debug)]
pub struct WriterLock {
    file: File,
    paths: Paths,
    /// `.aof/`, in which the lock stands.
    local: Folder,
    /// How many bytes the file has that somebody could read.
    size: usize,
}

impl Holder {
    /// Returns the record of this process.
    pub fn this_process(command: impl Into<String>, since: Timestamp) -> Self {
        Self { pid: std::process::id(), command: command.into(), since }
    }

    /// Returns who wrote the lock file last: the holder, while the lock is held.
    pub fn read(paths: &Paths) -> Option<Self> {
        let folder = Folder::open_existing(paths.root(), LOCAL).ok()??;
        let (bytes, _) = folder.read(NAME, RECORD_LIMIT).ok()??;
        serde_json::from_slice(&bytes).ok()
    }

    fn read_from(file: &File) -> Option<Self> {
        let mut bytes = Vec::new();
        // Each attempt opens the file anew, so its cursor is at the start.
        file.take(RECORD_LIMIT).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = self.command.escape_debug();
        write!(f, "`{command}` (process {}, since {:.0})", self.pid, self.since)
    }
}

impl WriterLock {
    /// Takes the lock, waiting for it as long as told; `on_wait` is called once, before the first pause, with who has it.
    pub fn acquire(
        paths: &Paths,
        holder: &Holder,
        wait: Duration,
        on_wait: &mut dyn FnMut(Option<&Holder>),
    ) -> Result<Self, StoreError> {
        let start = Instant::now();
        let mut pause = SHORTEST_PAUSE;
        let mut told = false;
        loop {
            let other = match attempt(open(paths)?, paths)? {
                Attempt::Locked(lock) => return lock.marked(holder),
                Attempt::Held(file) => Holder::read_from(&file),
                Attempt::Replaced => None,
            };
            let waited = start.elapsed();
            if waited >= wait {
                return Err(StoreError::LockTimedOut { path: paths.lock(), waited, holder: other });
            }
            if !told {
                on_wait(other.as_ref());
                told = true;
            }
            thread::sleep(pause.min(wait.saturating_sub(waited)));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Returns the places of the project that is locked.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Returns the folder in which the lock stands, as it was when the lock was taken.
    pub(super) fn local(&self) -> &Folder {
        &self.local
    }

    /// Writes the record over whatever is there. The file keeps its size: to cut it off costs far more than to blank the rest,
    /// because the system then waits until what was written before is on the disk.
    fn marked(mut self, holder: &Holder) -> Result<Self, StoreError> {
        let mut record = serde_json::to_vec(holder).expect("a record of plain fields is JSON");
        record.resize(record.len().max(self.size), b' ');
        self.file.write_all_at(&record, 0).map_err(|cause| StoreError::io("write", &self.paths.lock(), cause))?;
        self.size = record.len();
        Ok(self)
    }
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        // The next holder's waiters shall not be shown this one.
        let _ = self.file.write_all_at(&vec![b' '; self.size], 0);
        // Closing the file would do, but for a process that is just being started and still has a copy of it.
        let _ = fs4::FileExt::unlock(&self.file);
    }
}

enum Attempt {
    Locked(WriterLock),
    Held(File),
    /// The lock file was removed or exchanged while it was being locked.
    Replaced,
}

/// Opens `.aof/`, where git sees nothing that is local, and the lock file in it.
fn open(paths: &Paths) -> Result<(Folder, File), StoreError> {
    let local = paths.prepare_local()?;
    let file = local.open_lock(NAME)?;
    Ok((local, file))
}

fn attempt((local, file): (Folder, File), paths: &Paths) -> Result<Attempt, StoreError> {
    let fault = |cause: std::io::Error| StoreError::io("lock", &paths.lock(), cause);
    if let Some(kind) = network_kind(&file).map_err(|cause| fault(cause.into()))? {
        return Err(StoreError::NetworkFileSystem { path: paths.root().to_owned(), kind });
    }
    match fs4::FileExt::try_lock(&file) {
        Ok(()) => {}
        Err(fs4::TryLockError::WouldBlock) => return Ok(Attempt::Held(file)),
        Err(fs4::TryLockError::Error(cause)) => return Err(fault(cause)),
    }
    let locked = file.metadata().map_err(fault)?;
    // Through the root again: `.aof/` itself may have been exchanged.
    let standing = std::fs::symlink_metadata(paths.lock());
    if !standing.is_ok_and(|now| (now.ino(), now.dev()) == (locked.ino(), locked.dev())) {
        return Ok(Attempt::Replaced);
    }
    let mut size = usize::try_from(locked.len()).unwrap_or(usize::MAX);
    if locked.len() > RECORD_LIMIT {
        file.set_len(0).map_err(fault)?;
        size = 0;
    }
    Ok(Attempt::Locked(WriterLock { file, paths: paths.clone(), local, size }))
}

#[cfg(test)]
mod tests;
