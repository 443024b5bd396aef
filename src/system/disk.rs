//! Files that wait for the disk, and the wait for all of them at once. A leaf: every floor may call it, it calls nothing.
//!
//! A sync ends with the question to the disk whether all that it was given is down. Of the files that ask side by side many are
//! answered at once; of those that ask one after the other each waits for an answer of its own, and a busy disk takes
//! milliseconds for each. None may need another one to be there first.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// How many ask side by side: as many as one transition has written. Whoever asks behind an answer waits for one more.
const SIDE_BY_SIDE: usize = 8;
/// All that such a thread does is to wait.
const STACK: usize = 64 * 1024;

/// What of a file or a folder is to survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncPart {
    /// Its bytes.
    Bytes,
    /// Its mode and its times as well.
    Everything,
    /// The names in a folder. Not every file system can be asked for them; those that cannot need not be.
    Names,
}

/// A file that is written, and that a power cut may still take back.
#[derive(Debug)]
#[must_use = "a power cut takes it back until it is synced"]
pub struct Unsynced {
    file: File,
    path: PathBuf,
    part: SyncPart,
    is_ahead: bool,
}

/// The file that could not be synced, and why. What it has on the disk is not known; a second try would tell nothing.
#[derive(Debug)]
pub struct NotSynced {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub cause: io::Error,
}

impl Unsynced {
    /// Returns this file as one that waits.
    pub fn new(file: &File, path: &Path, part: SyncPart) -> io::Result<Self> {
        Ok(Self { file: file.try_clone()?, path: path.to_owned(), part, is_ahead: false })
    }

    /// Returns it as one that is asked for before all others. While the disk answers for it, the bytes of the others get there, and
    /// the journal of a file system then takes them in one entry; asked for at once, some would miss that one and wait for a second.
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

/// Has what was written to a file start on its way to the disk, so that it is there by the time that others are asked for. Advice:
/// where it is not taken, the sync alone does it, and an error of the disk is told to the sync.
pub(crate) fn start(file: &File) {
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}

/// Has these files survive a power cut; returns when all of them do.
pub(crate) fn sync(files: Vec<Unsynced>) -> Result<(), NotSynced> {
    let (ahead, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| file.is_ahead);
    for file in ahead {
        file.sync()?;
    }
    let queue = Arc::new(Queue { files, state: Mutex::default(), answered: Condvar::new() });
    for _ in 1..queue.files.len().min(SIDE_BY_SIDE) {
        let other = Arc::clone(&queue);
        // Where the system has no thread to spare, whoever is there does it.
        if Builder::new().stack_size(STACK).spawn(move || other.ask()).is_err() {
            break;
        }
    }
    queue.ask();
    queue.wait()
}

/// The files, and whoever asks for them. A thread that comes too late finds nothing left and is not waited for: on a busy machine
/// it may come long after a fast disk has answered.
struct Queue {
    files: Vec<Unsynced>,
    state: Mutex<SyncProgress>,
    answered: Condvar,
}

#[derive(Default)]
struct SyncProgress {
    asked: usize,
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
            self.answered.notify_one();
        }
    }

    fn next(&self) -> Option<&Unsynced> {
        let mut state = self.state();
        let file = self.files.get(state.asked)?;
        state.asked += 1;
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
    fn whatever_their_number_all_are_synced_and_one_that_cannot_be_is_told() {
        let home = tempfile::TempDir::new().unwrap();
        for number in [0, 1, 3, 40] {
            let file = |index: usize| {
                let path = home.path().join(format!("{number}-{index}"));
                fs::write(&path, "text").unwrap();
                let part =
                    if index.is_multiple_of(2) { SyncPart::Bytes } else { SyncPart::Everything };
                let file = Unsynced::new(&File::open(&path).unwrap(), &path, part).unwrap();
                if index % 7 == 2 { file.ahead() } else { file }
            };
            sync((0..number).map(file).collect()).unwrap();
            let mut files: Vec<Unsynced> = (0..number).map(file).collect();
            // A pipe has nothing to sync.
            let (_, pipe) = io::pipe().unwrap();
            let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
            files.insert(
                number / 2,
                Unsynced::new(&pipe, Path::new("a pipe"), SyncPart::Bytes).unwrap(),
            );
            assert_eq!(sync(files).unwrap_err().path, Path::new("a pipe"));
        }
    }
}
