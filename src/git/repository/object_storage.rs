//! How many files git keeps objects in, and making few of many. Nothing that is referred to is ever lost by it: git itself does it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::handle::Repository;
use crate::git::command;
use crate::git::error::{At, GitError};

/// As long as it takes for the largest repository.
const PATIENCE: Duration = Duration::from_hours(1);

/// How objects are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storage {
    /// Those in files of their own.
    pub loose: usize,
    /// How many packs there are.
    pub packs: usize,
}

impl Repository {
    /// Counts the files that objects are kept in.
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

    /// Has git put what is loose into packs, and many packs into one.
    pub fn repack(&self) -> Result<(), GitError> {
        let mut git = self.git_command();
        git.args(["gc", "--quiet"]);
        command::run_git_for(git, &[], PATIENCE).map(drop)
    }
}

fn count(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<usize, GitError> {
    let entries = fs::read_dir(folder).at("list", folder)?;
    Ok(entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(&wanted)).count())
}
