//! Reads files, and syncs them to the disk in parallel. Any layer may call this module; it calls none.
//!
//! A sync ends with a flush of the disk's cache. One flush can serve many parallel syncs, while sequential ones each wait for a
//! flush of their own, which takes milliseconds on a busy disk. So the files of one call must not depend on an order.

use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::{io, iter};

use rustix::io::Errno;

/// The number of threads that sync in parallel: about the number of files that a transition writes.
const SIDE_BY_SIDE: usize = 8;
/// The stack size of a syncing thread, which only waits.
const STACK: usize = 64 * 1024;

/// The name prefix of temporary files in folders that people see. A kill may leave them, and the next command removes them.
pub const TEMPORARY: &str = ".aof-tmp";

/// The part of a file or a folder to sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncPart {
    /// Its bytes.
    Bytes,
    /// Its bytes, mode and times.
    Everything,
    /// The names in a folder. File systems that cannot sync folders do not need it.
    Names,
}

/// A file that is written but not synced.
#[derive(Debug)]
#[must_use = "a power cut takes it back until it is synced"]
pub struct Unsynced {
    file: Arc<File>,
    path: PathBuf,
    part: SyncPart,
    is_ahead: bool,
}

/// The file that could not be synced, with the error. Its state on the disk is unknown; a retry would not show it.
#[derive(Debug)]
pub struct NotSynced {
    /// The file.
    pub path: PathBuf,
    /// The system's error.
    pub cause: io::Error,
}

impl Unsynced {
    /// Returns this file for a sync.
    pub fn new(file: impl Into<Arc<File>>, path: &Path, part: SyncPart) -> Self {
        Self { file: file.into(), path: path.to_owned(), part, is_ahead: false }
    }

    /// Marks the file to be synced before all others. Meanwhile the bytes of the others reach the disk, so the file system's
    /// journal commits them in one transaction; in parallel, some would miss it and wait for a second one.
    pub fn ahead(self) -> Self {
        Self { is_ahead: true, ..self }
    }

    fn sync(&self) -> Result<(), NotSynced> {
        match self.part {
            SyncPart::Bytes => self.file.sync_data(),
            SyncPart::Everything => self.file.sync_all(),
            SyncPart::Names => self.file.sync_all().or_else(|cause| match cause.kind() {
                io::ErrorKind::InvalidInput => Ok(()),
                _ => Err(cause),
            }),
        }
        .map_err(|cause| NotSynced { path: self.path.clone(), cause })
    }
}

/// Starts writing a file back to the disk, so that a later sync is fast. This is only advice; the sync reports errors.
pub fn start(file: &File) {
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}

/// Reads a file on a local disk to its end, in one call if it is no longer than expected: a short read is the last one.
pub fn read_to_end(file: impl AsFd, expected: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(expected + 1);
    loop {
        let room = bytes.capacity() - bytes.len();
        match rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes)) {
            Ok(read) if read < room => return Ok(bytes),
            Ok(_) => bytes.reserve(bytes.len()),
            Err(Errno::INTR) => {}
            Err(cause) => return Err(cause.into()),
        }
    }
}

/// Reads so many bytes, fewer only at the end of the file, and at most one more: it shows that the file has grown.
pub fn read_expected(file: impl AsFd, expected: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(expected + 1);
    loop {
        match rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes)) {
            Ok(read) if read == 0 || bytes.len() >= expected => return Ok(bytes),
            Ok(_) | Err(Errno::INTR) => {}
            Err(cause) => return Err(cause.into()),
        }
    }
}

/// Syncs these files; returns when all are done. Fails with the first error.
pub fn sync(files: Vec<Unsynced>) -> Result<(), NotSynced> {
    let (ahead, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| file.is_ahead);
    for file in ahead {
        file.sync()?;
    }
    if files.is_empty() {
        return Ok(());
    }
    let queue = Arc::new(Queue { files, state: Mutex::default(), answered: Condvar::new() });
    HELPERS.call(&queue, queue.files.len().min(SIDE_BY_SIDE) - 1);
    queue.ask();
    let synced = queue.wait();
    HELPERS.dismiss(&queue);
    synced
}

/// The threads that sync. They wait for the next call, because starting and ending one costs more than a sync on a fast disk.
static HELPERS: Helpers = Helpers {
    state: Mutex::new(Calls { open: VecDeque::new(), started: 0 }),
    called: Condvar::new(),
};

struct Helpers {
    state: Mutex<Calls>,
    called: Condvar,
}

struct Calls {
    /// The queues that wait for a helper, once for each.
    open: VecDeque<Arc<Queue>>,
    started: usize,
}

impl Helpers {
    /// Calls so many helpers to a queue. Fewer come if no more threads can be started, or if others need them.
    fn call(&'static self, queue: &Arc<Queue>, number: usize) {
        let mut calls = self.calls();
        while calls.started < number {
            if Builder::new().stack_size(STACK).spawn(|| self.serve()).is_err() {
                break;
            }
            calls.started += 1;
        }
        calls.open.extend(iter::repeat_n(Arc::clone(queue), number));
        drop(calls);
        if number > 0 {
            self.called.notify_all();
        }
    }

    /// Forgets a queue that is done, whose files would stay open.
    fn dismiss(&self, queue: &Arc<Queue>) {
        self.calls().open.retain(|open| !Arc::ptr_eq(open, queue));
    }

    fn serve(&self) {
        loop {
            let mut calls = self.calls();
            let queue = loop {
                match calls.open.pop_front() {
                    Some(queue) => break queue,
                    None => {
                        calls = self.called.wait(calls).unwrap_or_else(PoisonError::into_inner);
                    }
                }
            };
            drop(calls);
            queue.ask();
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The files and the progress of their syncs. A thread that starts late finds nothing to do and is not waited for.
struct Queue {
    files: Vec<Unsynced>,
    state: Mutex<SyncProgress>,
    answered: Condvar,
}

#[derive(Default)]
struct SyncProgress {
    taken: usize,
    answered: usize,
    fault: Option<NotSynced>,
}

impl Queue {
    fn ask(&self) {
        while let Some(file) = self.next() {
            let answer = file.sync();
            let mut state = self.state();
            state.answered += 1;
            if let Err(fault) = answer {
                state.fault.get_or_insert(fault);
            }
            if state.answered == self.files.len() {
                self.answered.notify_one();
            }
        }
    }

    fn next(&self) -> Option<&Unsynced> {
        let mut state = self.state();
        let file = self.files.get(state.taken)?;
        state.taken += 1;
        Some(file)
    }

    fn wait(&self) -> Result<(), NotSynced> {
        let mut state = self.state();
        while state.answered < self.files.len() {
            state = self.answered.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.fault.take().map_or(Ok(()), Err)
    }

    fn state(&self) -> MutexGuard<'_, SyncProgress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn any_number_of_files_is_synced_and_a_failure_is_reported() {
        let home = tempfile::TempDir::new().unwrap();
        for number in [0, 1, 3, 40] {
            let file = |index: usize| {
                let path = home.path().join(format!("{number}-{index}"));
                fs::write(&path, "text").unwrap();
                let part =
                    if index.is_multiple_of(2) { SyncPart::Bytes } else { SyncPart::Everything };
                let file = Unsynced::new(File::open(&path).unwrap(), &path, part);
                if index % 7 == 2 { file.ahead() } else { file }
            };
            sync((0..number).map(file).collect()).unwrap();
            let mut files: Vec<Unsynced> = (0..number).map(file).collect();
            // A pipe has nothing to sync.
            let (_, pipe) = io::pipe().unwrap();
            let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
            files.insert(number / 2, Unsynced::new(pipe, Path::new("a pipe"), SyncPart::Bytes));
            assert_eq!(sync(files).unwrap_err().path, Path::new("a pipe"));
        }
    }
}
