//! What git knows of merges: what is being merged, and who merges which files. Merges nothing.

use std::path::PathBuf;

use super::handle::Repository;
use crate::git::error::{During, GitError};
use crate::git::id::CommitId;
use crate::git::objects::git_file;

/// The names under which git knows the driver.
const DRIVER: &str = "merge.aof.driver";
const NAME: &str = "merge.aof.name";

/// Where git looks for hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hooks {
    /// In the repository's own folder.
    Own(PathBuf),
    /// Where `core.hooksPath` says.
    Elsewhere(PathBuf),
}

impl Repository {
    /// Returns what is being merged into HEAD just now.
    pub fn merge_heads(&self) -> Vec<CommitId> {
        let text = git_file::read_text(&self.git_dir().join("MERGE_HEAD")).unwrap_or_default();
        text.lines().filter_map(|line| line.trim().parse().ok()).collect()
    }

    /// Returns the command that git's configuration names for our driver.
    pub fn merge_driver(&self) -> Result<Option<String>, GitError> {
        let config = self.git().config().during(reading)?;
        match config.get_string(DRIVER) {
            Ok(command) => Ok(Some(command)),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error).during(reading),
        }
    }

    /// Names the driver in the repository's own configuration.
    pub fn set_merge_driver(&self, name: &str, command: &str) -> Result<(), GitError> {
        let doing = || format!("write git's configuration in `{}`", self.common_dir().display());
        let mut config = self
            .git()
            .config()
            .and_then(|config| config.open_level(git2::ConfigLevel::Local))
            .during(doing)?;
        // A name without a command would stop every merge.
        config.set_str(DRIVER, command).during(doing)?;
        config.set_str(NAME, name).during(doing)
    }

    /// Returns where git looks for hooks.
    pub fn hooks(&self) -> Result<Hooks, GitError> {
        let config = self.git().config().during(reading)?;
        match config.get_path("core.hooksPath") {
            Ok(path) => Ok(Hooks::Elsewhere(self.worktree_root().join(path))),
            Err(error) if error.code() == git2::ErrorCode::NotFound => {
                Ok(Hooks::Own(self.common_dir().join("hooks")))
            }
            Err(error) => Err(error).during(reading),
        }
    }
}

fn reading() -> String {
    "read git's configuration".to_owned()
}
