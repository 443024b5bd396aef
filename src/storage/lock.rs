//! The writer lock: one writer per project. Holding a [`WriterLock`] is the right to change task files.
//!
//! It is on `.aof/lock`, and never on a task file: a rename slips out from under it. Not re-entrant: a second attempt in the
//! same process waits like any other.

use std::fs::File;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use super::fs::error::OrIo;
use super::fs::lock_file::{FileLock, LockAttempt, OwnedFile, stands_at};
use super::layout::LOCAL;
use super::{Folder, Holder, Paths, StoreError};

const NAME: &str = "lock";
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// The right to write, until it is dropped.
#[derive(Debug)]
pub struct WriterLock {
    held: OwnedFile,
    paths: Paths,
    /// `.aof/`, in which the lock stands.
    local: Folder,
}

impl WriterLock {
    /// Takes the lock, waiting for it as long as told; `on_wait` is called once, before the first pause, with who has it.
    pub(crate) fn acquire(
        paths: &Paths,
        holder: &Holder,
        wait: Duration,
        on_wait: &mut dyn FnMut(Option<&Holder>),
    ) -> Result<Self, StoreError> {
        let start = Instant::now();
        let mut pause = SHORTEST_PAUSE;
        let mut told = false;
        loop {
            // Where git sees nothing that is local.
            let local = paths.prepare_local()?;
            let other = match OwnedFile::attempt(&local, NAME, paths.root(), holder)? {
                LockAttempt::Locked(held) => return Ok(Self { held, paths: paths.clone(), local }),
                LockAttempt::Held(other) => other,
                LockAttempt::Replaced => None,
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

    /// Returns the lock for another program to hold as well: should this process be killed, it is held until that one has ended.
    pub(crate) fn share(&self) -> Result<File, StoreError> {
        self.held.share()
    }

    /// Returns the places of the project that is locked.
    pub(crate) fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Returns the folder in which the lock stands, as it was when the lock was taken.
    pub(crate) fn local(&self) -> &Folder {
        &self.local
    }
}

const WATCHER: &str = "watcher";

/// The mark of one living watcher, until it is dropped.
#[derive(Debug)]
pub(crate) struct Presence {
    file: File,
    path: PathBuf,
}

impl Presence {
    /// Says that a watcher lives.
    pub(crate) fn announce(paths: &Paths) -> Result<Self, StoreError> {
        let file = paths.prepare_local()?.open_lock(WATCHER)?;
        let path = paths.local().join(WATCHER);
        // Whoever only asks holds the file for microseconds.
        fs4::FileExt::lock_shared(&file).or_io("lock", &path)?;
        Ok(Self { file, path })
    }

    /// Returns whether others can see the mark: somebody may have removed `.aof/`.
    pub(crate) fn is_visible(&self) -> bool {
        stands_at(&self.file, &self.path)
    }
}

/// Returns whether a watcher of the project lives.
pub(crate) fn is_watched(paths: &Paths) -> bool {
    let Ok(Some(folder)) = Folder::open_existing(paths.root(), LOCAL) else { return false };
    // Asking makes no file.
    let Ok(Some((file, _))) = folder.open_to_write(WATCHER) else { return false };
    matches!(FileLock::attempt(file, folder.path()), Ok(None))
}

#[cfg(test)]
mod watcher_presence_tests {
    use super::*;
    use tempfile::TempDir;

    #[test]
    fn a_project_is_watched_while_any_watcher_lives() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        assert!(!is_watched(&paths) && !paths.local().exists());
        let (one, two) = (Presence::announce(&paths).unwrap(), Presence::announce(&paths).unwrap());
        assert!(is_watched(&paths));
        drop(one);
        assert!(is_watched(&paths) && is_watched(&paths));
        drop(two);
        assert!(!is_watched(&paths));
    }

    #[test]
    fn a_mark_that_was_removed_is_known_to_be_invisible() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        let mark = Presence::announce(&paths).unwrap();
        assert!(mark.is_visible());
        std::fs::remove_dir_all(paths.local()).unwrap();
        assert!(!mark.is_visible() && !is_watched(&paths));
        let again = Presence::announce(&paths).unwrap();
        assert!(again.is_visible() && is_watched(&paths));
    }
}

#[cfg(test)]
mod tests;
