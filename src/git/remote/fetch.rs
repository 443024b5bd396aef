//! What another repository has, brought here, and where its branch is noted. A lock of git's that stands in the way is this clone's own, and
//! no remote's: it is waited for.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::answers::{Obstacle, not_taken, obstacle, trouble, words};
use super::transport::{Prompts, speak, text};
use super::upstream::{RemoteError, Upstream};
use crate::git::error::GitError;
use crate::git::id::CommitId;
use crate::git::repository::handle::Repository;

const NAP: Duration = Duration::from_millis(20);

impl Repository {
    /// Asks the remote where its branch is, and gets what led there; nothing if it has no such branch. Waits until the deadline while
    /// somebody else here is at what is remembered of it.
    pub fn fetch(
        &self,
        upstream: &Upstream,
        prompts: Prompts,
        deadline: Instant,
    ) -> Result<Result<Option<CommitId>, RemoteError>, GitError> {
        // However long git itself took: what was only in the way a moment ago is tried once more.
        let mut is_last = false;
        loop {
            let said = match self.fetch_once(upstream, prompts)? {
                Ok(()) => return self.remembered(upstream).map(Ok),
                Err(said) if said.contains("couldn't find remote ref") => return Ok(Ok(None)),
                Err(said) => said,
            };
            let remote = &upstream.remote;
            match obstacle(&said) {
                Some(Obstacle::Lock(path)) if is_last || !is_let_go(&path, deadline) => {
                    return Err(locked(path));
                }
                Some(Obstacle::Lock(_)) => is_last = Instant::now() >= deadline,
                Some(Obstacle::Race) if Instant::now() < deadline => thread::sleep(NAP),
                Some(Obstacle::Race | Obstacle::Other) => {
                    return Err(GitError::NotStored {
                        remote: remote.clone(),
                        said: words(&said, ""),
                    });
                }
                None => {
                    return match not_taken(remote, &said) {
                        Some(error) => Err(error),
                        None => Ok(Err(trouble(remote, &said))),
                    };
                }
            }
        }
    }

    /// Returns what git says where it fails.
    fn fetch_once(
        &self,
        upstream: &Upstream,
        prompts: Prompts,
    ) -> Result<Result<(), String>, GitError> {
        let Upstream { remote, reference, tracking, .. } = upstream;
        let mut git = self.speaking_git(prompts)?;
        git.args([
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
        ]);
        // Of what comes, a partial clone is to have all: it is compared, and may have to be merged.
        git.args([
            "--no-recurse-submodules",
            "--no-filter",
            remote,
            &format!("+{reference}:{tracking}"),
        ]);
        Ok(match speak(git, prompts) {
            Ok(finished) if finished.status.success() => Ok(()),
            Ok(finished) => Err(text(&finished.stderr)),
            Err(said) => Err(said),
        })
    }
}

/// Waits until a lock is gone, and says whether it is. The remote is not asked meanwhile.
fn is_let_go(lock: &Path, deadline: Instant) -> bool {
    while fs::symlink_metadata(lock).is_ok() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        thread::sleep(NAP.min(left));
    }
    true
}

fn locked(path: PathBuf) -> GitError {
    let made = fs::symlink_metadata(&path).and_then(|data| data.modified());
    GitError::Locked { age: made.ok().and_then(|made| made.elapsed().ok()), path }
}
