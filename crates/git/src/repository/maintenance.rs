//! Counts the files of git's objects, and runs git's own maintenance, which packs them.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use super::configuration::GitConfig;
use super::handle::Repository;
use crate::command;
use crate::error::{At, GitError};

/// Long enough for the largest repository.
const GC_TIMEOUT: Duration = Duration::from_hours(1);

/// The files of git's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storage {
    /// The number of loose objects.
    pub loose: usize,
    /// The number of packs.
    pub packs: usize,
}

impl Repository {
    /// Counts loose objects and packs.
    pub fn storage(&self) -> Result<Storage, GitError> {
        let mut storage = Storage { loose: 0, packs: 0 };
        let folder = self.objects().path();
        for entry in fs::read_dir(folder).at("list", folder)? {
            let entry = entry.at("list", folder)?;
            let name = entry.file_name();
            if name == "pack" {
                storage.packs = count(&entry.path(), |name| {
                    Path::new(name).extension() == Some("pack".as_ref())
                })?;
            } else if name.len() == 2 {
                storage.loose += count(&entry.path(), |name| name.len() == 38)?;
            }
        }
        Ok(storage)
    }

    /// Runs `git gc`, as the user would: it sees grafts and replacements, and keeps what only they reach.
    pub fn repack(&self) -> Result<(), GitError> {
        let mut git = command::users_git(self.worktree_root());
        git.args(["gc", "--quiet"]);
        command::run_git_for(git, &[], GC_TIMEOUT).map(drop)
    }
}

fn count(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<usize, GitError> {
    let entries = fs::read_dir(folder).at("list", folder)?;
    Ok(entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(&wanted)).count())
}

/// The shortest time between two starts of maintenance.
const PAUSE: Duration = Duration::from_mins(1);

/// Starts git's maintenance from a shell that closes the streams of the caller and does not wait.
const START: &str = "git maintenance run --auto --quiet 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &";

/// Starts git's maintenance when dropped, detached, if git would do some: git does this after a commit.
pub struct Maintenance {
    folder: PathBuf,
    objects: PathBuf,
    config: Arc<GitConfig>,
    /// A file that changes at each start.
    stamp: PathBuf,
}

impl Repository {
    /// Returns the maintenance that follows a commit; `stamp` is the file that records when it last started.
    pub fn maintenance(&self, stamp: PathBuf) -> Option<Maintenance> {
        let (folder, objects) = (self.worktree_root().to_owned(), self.objects().path().to_owned());
        Some(Maintenance { folder, objects, config: self.config().ok()?, stamp })
    }

    /// Returns the numbers of loose objects and packs from which git packs them; `None` if its maintenance is switched
    /// off.
    pub fn packing_limits(&self) -> Result<Option<Storage>, GitError> {
        Ok(self.config()?.packing_limits())
    }
}

impl GitConfig {
    fn packing_limits(&self) -> Option<Storage> {
        let number = |name, otherwise| {
            self.text(name).and_then(|text| git2::Config::parse_i64(text).ok()).unwrap_or(otherwise)
        };
        let loose = usize::try_from(number("gc.auto", 6_700)).ok().filter(|limit| *limit > 0)?;
        let packs = usize::try_from(number("gc.autoPackLimit", 50)).ok().filter(|limit| *limit > 0);
        let is_on = self.switch("maintenance.auto").ok().flatten() != Some(false);
        is_on.then_some(Storage { loose, packs: packs.unwrap_or(usize::MAX) })
    }
}

impl Maintenance {
    /// Returns whether git would do something. Like git, this estimates the loose objects from one of the 256 folders.
    fn is_due(&self) -> bool {
        let age =
            fs::metadata(&self.stamp).ok().and_then(|data| data.modified().ok()?.elapsed().ok());
        if age.is_some_and(|age| age < PAUSE) {
            return false;
        }
        // If the user has chosen the maintenance tasks, only git knows whether there is something to do.
        let is_chosen = self.config.has_below("maintenance.", "maintenance.auto");
        let Some(limits) = self.config.packing_limits() else { return false };
        let is_pack = |name: &str| name.rsplit('.').next() == Some("pack");
        is_chosen
            || count(&self.objects.join("17"), |name| name.len() == 38).unwrap_or(0)
                > limits.loose.div_ceil(256)
            || count(&self.objects.join("pack"), is_pack).unwrap_or(0) > limits.packs
    }

    fn start(&self) -> Result<(), GitError> {
        fs::write(&self.stamp, "").at("write", &self.stamp)?;
        let mut shell = command::as_user("sh", &self.folder);
        shell.args(["-c", START]).process_group(0);
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        shell.status().map(drop).at("start git's maintenance in", &self.folder)
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        if self.is_due() {
            // A commit does not fail because of this, and `aof doctor` reports objects that stay unpacked.
            let _ = self.start();
        }
    }
}
