//! The writer lock: one writer per project. Holding a [`WriterLock`] is the right to change task files.
//!
//! It is on `.aof/lock`, and never on a task file: a rename slips out from under it. Not re-entrant: a second attempt in the
//! same process waits like any other.

use std::fs::File;
use std::thread;
use std::time::{Duration, Instant};

use super::fs::lock_file::{LockAttempt, OwnedFile};
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

#[cfg(test)]
mod tests;
