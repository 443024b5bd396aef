//! A git that changes files goes on where whoever started it is killed. It holds a lock as long as it lives, by which it is known.

use std::fs;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::git::error::{At, GitError};
use crate::git::objects::loose::Temp;
use crate::git::repository::handle::Repository;
use crate::git::transaction::locks::is_held;

/// What the files are called that such a git holds. They have nothing in them, and nobody replaces them.
const SIGN: &str = "aof-git-lives";

impl Repository {
    /// Returns a file, locked for whoever inherits it: the lock lasts until the last one has ended.
    pub(crate) fn sign_of_life(&self) -> Result<Temp, GitError> {
        let sign = Temp::create(self.git_dir(), SIGN, 0o600)?;
        let locked = flock(&sign.file, FlockOperation::NonBlockingLockExclusive)
            .map_err(std::io::Error::from);
        locked.at("lock", &sign.path)?;
        Ok(sign)
    }

    /// Waits for a git that was started by a killed process: it ends soon.
    pub(crate) fn wait_for_left_git(&self, deadline: Instant) -> Result<(), GitError> {
        loop {
            let entries = fs::read_dir(self.git_dir()).at("read", self.git_dir())?;
            let is_sign = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(SIGN);
            if !entries.flatten().any(|entry| is_sign(&entry.file_name()) && is_held(&entry.path()))
            {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let reason = "a git that a killed command left behind still writes files; wait until it has ended, \
                              or end it, then try again";
                return Err(GitError::Waiting { reason: reason.to_owned() });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
