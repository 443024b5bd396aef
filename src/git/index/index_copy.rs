//! A copy of the index, on which git works while `index.lock` is held: what it makes of it becomes the index, or is thrown away.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::git::command;
use crate::git::error::{At, AuditError};
use crate::git::log::path_diff::{Changes, Difference};
use crate::git::objects::id::CommitId;
use crate::git::objects::loose::Temp;
use crate::git::repository::git_file;
use crate::git::repository::repository::Repository;
use crate::git::transaction::locks::{Held, INDEX_COPY};

impl Repository {
    /// Returns a copy of the index beside it, where a split one finds its other part.
    pub(crate) fn index_copy(&self) -> Result<Temp, AuditError> {
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
    pub(crate) fn look_afresh(&self, copy: &Path, difference: &Difference, patience: Duration) {
        let known = difference.paths().filter(|(_, (before, _))| before.is_some());
        self.refresh(copy, &known.map(|(path, _)| path).collect::<Vec<_>>(), patience);
    }

    /// The same of these paths.
    pub(crate) fn refresh(&self, copy: &Path, known: &[&[u8]], patience: Duration) {
        if known.is_empty() || !copy.exists() {
            return;
        }
        let mut refresh = self.git_on(copy);
        refresh.args([
            "--literal-pathspecs",
            "add",
            "--refresh",
            "--ignore-errors",
            "--pathspec-from-file=-",
        ]);
        refresh.arg("--pathspec-file-nul");
        let paths: Vec<u8> =
            known.iter().flat_map(|path| path.iter().copied().chain([0])).collect();
        // What is not in the index by now is found out by what comes next.
        let _ = command::run(refresh, &paths, patience);
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

    /// Enters into the copy what the worktree has already.
    pub(crate) fn enter(&self, copy: &Path, arrived: &Changes) -> Result<(), AuditError> {
        if arrived.is_empty() {
            return Ok(());
        }
        let lines = arrived.iter().filter_map(|(path, (_, after))| {
            let leaf = (*after)?;
            Some(format!("{:o} {}\t{path}\0", leaf.mode, leaf.id))
        });
        let lines: String = lines.collect();
        let mut git = self.git_on(copy);
        git.args(["update-index", "--add", "--replace", "-z", "--index-info"]);
        command::run_git(git, lines.as_bytes()).map(drop)
    }

    pub(crate) fn git_on(&self, index: &Path) -> Command {
        let mut git = command::git(self);
        git.env("GIT_INDEX_FILE", index);
        git
    }
}

impl Held {
    /// Writes what another file holds, with its time: what git wrote while it looked at files.
    pub(crate) fn write_all_of(&self, other: &Temp) -> Result<(), AuditError> {
        let bytes = fs::read(&other.path).at("read", &other.path)?;
        let modified =
            fs::metadata(&other.path).and_then(|data| data.modified()).at("read", &other.path)?;
        let mut file = self.file();
        file.write_all(&bytes).at("write", self.path())?;
        file.set_times(fs::FileTimes::new().set_modified(modified))
            .at("set the time of", self.path())
    }
}
