//! A copy of the index, on which git works while `index.lock` is held: what it makes of it becomes the index, or is thrown away.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::git::command;
use crate::git::error::{At, GitError};
use crate::git::id::CommitId;
use crate::git::log::tree_diff::Changes;
use crate::git::objects::git_file;
use crate::git::objects::loose::Temp;
use crate::git::objects::tree::Leaf;
use crate::git::repository::handle::Repository;
use crate::git::transaction::locks::{Held, INDEX_COPY};

impl Repository {
    /// Returns a copy of the index beside it, where a split one finds its other part.
    pub(crate) fn index_copy(&self) -> Result<Temp, GitError> {
        let mut copy = Temp::create(self.git_dir(), INDEX_COPY, 0o600)?;
        let index = self.git_dir().join("index");
        match git_file::read(&index) {
            Ok(bytes) => {
                copy.file.write_all(&bytes).at("write", &copy.path)?;
                // By this time git tells which files may have changed since without looking otherwise.
                let modified =
                    fs::metadata(&index).and_then(|data| data.modified()).at("read", &index)?;
                let times = fs::FileTimes::new().set_modified(modified);
                copy.file.set_times(times).at("set the time of", &copy.path)?;
            }
            // Git takes an empty file for a broken index, and none for an empty one.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                fs::remove_file(&copy.path).at("remove", &copy.path)?;
            }
            Err(error) => return Err(error).at("read", &index),
        }
        Ok(copy)
    }

    /// Has the copy know what the files look like that are to change: an entry that only looks old would be in the way.
    pub(crate) fn refresh_known(&self, copy: &Path, changes: &Changes, patience: Duration) {
        let known = changes.iter().filter(|(_, (before, _))| before.is_some());
        self.refresh(copy, &known.map(|(path, _)| path.as_slice()).collect::<Vec<_>>(), patience);
    }

    /// Does so for these paths, and says whether git came to the end.
    pub(crate) fn refresh(&self, copy: &Path, known: &[&[u8]], patience: Duration) -> bool {
        if known.is_empty() || !copy.exists() {
            return true;
        }
        let mut refresh = self.git_on(copy);
        refresh.args(["--literal-pathspecs", "add", "--refresh", "--ignore-errors"]);
        refresh.args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
        let paths: Vec<u8> =
            known.iter().flat_map(|path| path.iter().copied().chain([0])).collect();
        command::run(refresh, &paths, patience).is_ok_and(|finished| finished.status.success())
    }

    /// Returns the git that takes an index and the worktree from one commit to another.
    pub(crate) fn read_tree(&self, index: &Path, from: Option<CommitId>, to: CommitId) -> Command {
        const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let mut git = self.git_on(index);
        git.args(["read-tree", "-m", "-u"]);
        git.arg(from.map_or_else(|| EMPTY_TREE.to_owned(), |from| from.to_string()))
            .arg(to.to_string());
        git
    }

    /// Gives paths of an index these entries; nothing takes one out.
    pub(crate) fn set_entries<'p>(
        &self,
        index: &Path,
        entries: impl Iterator<Item = (&'p [u8], Option<Leaf>)>,
    ) -> Result<(), GitError> {
        let mut lines = Vec::new();
        for (path, leaf) in entries {
            let fields = match leaf {
                Some(leaf) => format!("{:o} {}\t", leaf.mode, leaf.id),
                None => format!("0 {}\t", "0".repeat(40)),
            };
            lines.extend([fields.as_bytes(), path, b"\0"].concat());
        }
        if lines.is_empty() {
            return Ok(());
        }
        let mut git = self.git_on(index);
        git.args(["update-index", "--add", "--replace", "-z", "--index-info"]);
        command::run_git(git, &lines).map(drop)
    }

    /// Returns a git command that works on a copy of the index.
    pub(crate) fn git_on(&self, index: &Path) -> Command {
        // Only one command at a time uses a copy: a lock on it is left by a git that took too long and was killed.
        let _ = fs::remove_file(index.with_added_extension("lock"));
        let mut git = self.git_command();
        git.env("GIT_INDEX_FILE", index);
        git
    }
}

impl Held {
    /// Writes what another file holds, with its time: what git wrote while it looked at files.
    pub(crate) fn write_all_of(&self, other: &Temp) -> Result<(), GitError> {
        let bytes = fs::read(&other.path).at("read", &other.path)?;
        let modified =
            fs::metadata(&other.path).and_then(|data| data.modified()).at("read", &other.path)?;
        let mut file = self.file();
        file.write_all(&bytes).at("write", self.path())?;
        file.set_times(fs::FileTimes::new().set_modified(modified))
            .at("set the time of", self.path())
    }
}
