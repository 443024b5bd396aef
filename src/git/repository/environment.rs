//! What git is here, how it is set, and which of its locks are taken. Only looks.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::handle::Repository;
use crate::git::command;
use crate::git::error::{During, GitError};

/// Git tells its version at once, or hangs.
const PATIENCE: Duration = Duration::from_secs(10);

impl Repository {
    /// Returns what git says of its version; nothing where there is none.
    pub fn git_version(&self) -> Option<String> {
        let mut git = Command::new("git");
        git.arg("--version").env("LC_ALL", "C");
        let finished = command::run(git, &[], PATIENCE).ok()?;
        finished
            .status
            .success()
            .then(|| String::from_utf8_lossy(&finished.stdout).trim().to_owned())
    }

    /// Returns what git's configuration says of a name, as it is now.
    pub fn setting(&self, name: &str) -> Result<Option<String>, GitError> {
        let doing = || "read git's configuration".to_owned();
        let config = self.git().config().and_then(|mut config| config.snapshot()).during(doing)?;
        Ok(config.get_string(name).ok())
    }

    /// Returns whether git's configuration says yes or no to a name, in whichever of its words; nothing where it says neither.
    pub(crate) fn switch(&self, name: &str) -> Result<Option<bool>, GitError> {
        let doing = || "read git's configuration".to_owned();
        let config = self.git().config().and_then(|mut config| config.snapshot()).during(doing)?;
        Ok(config.get_bool(name).ok())
    }

    /// Returns the locks of git's that are taken, each with its age.
    pub fn lock_files(&self) -> Result<Vec<(PathBuf, Duration)>, GitError> {
        let own = |folder: &Path, name: &str| folder.join(format!("{name}.lock"));
        let mut places =
            BTreeSet::from([own(self.git_dir(), "index"), own(self.git_dir(), "HEAD")]);
        places
            .extend(["packed-refs", "config", "shallow"].map(|name| own(self.common_dir(), name)));
        let head = self.look()?;
        places.insert(own(self.common_dir(), &head.reference));
        // That of the branch whose remote is synced with keeps a fetch out.
        places.extend(
            self.upstream(&head, None)?
                .ok()
                .map(|upstream| own(self.common_dir(), &upstream.tracking)),
        );
        let taken = places.into_iter().filter_map(|path| {
            let modified = fs::symlink_metadata(&path).ok()?.modified().ok()?;
            let age = SystemTime::now().duration_since(modified).unwrap_or_default();
            Some((path, age))
        });
        Ok(taken.collect())
    }
}

/// Returns the editor that git would start for whoever works in that folder: `GIT_EDITOR`, `core.editor`, `VISUAL`, `EDITOR`, or what git
/// was built with. Nothing where git has none to name, or there is no git.
pub(crate) fn editor(folder: &Path) -> Option<String> {
    let mut git = Command::new("git");
    git.args(["var", "GIT_EDITOR"]).current_dir(folder);
    let finished = command::run(git, &[], PATIENCE).ok()?;
    let said = String::from_utf8(finished.stdout).ok()?.trim().to_owned();
    (finished.status.success() && !said.is_empty()).then_some(said)
}

/// Returns whether the system would find a program of that name.
pub(crate) fn is_program_there(program: &str) -> bool {
    if program.contains('/') {
        return is_program(Path::new(program));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| is_program(&folder.join(program)))
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
