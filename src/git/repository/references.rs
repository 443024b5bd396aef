//! Branches on disk: reading one afresh, its reflog, and the move itself. Only ever under the branch's lock.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use jiff::Timestamp;

use super::handle::Repository;
use crate::git::error::{At, GitError};
use crate::git::id::CommitId;
use crate::git::objects::git_file;
use crate::git::objects::person::Person;

/// A commit as a line of the reflog.
pub(crate) struct ReflogEntry {
    pub commit: CommitId,
    pub subject: String,
    pub committer: Person,
    pub committed: Timestamp,
}

impl Repository {
    pub(crate) fn reference_path(&self, reference: &str) -> PathBuf {
        self.common_dir().join(reference)
    }

    /// Reads a branch past every cache: its own file, else its line in `packed-refs`.
    pub(crate) fn read_reference(&self, reference: &str) -> Result<Option<CommitId>, GitError> {
        let path = self.reference_path(reference);
        let unreadable = |path: &PathBuf| GitError::Io {
            action: "read the branch",
            path: path.clone(),
            source: std::io::Error::new(
                ErrorKind::InvalidData,
                "it does not hold the name of a commit",
            ),
        };
        match git_file::read(&path) {
            Ok(text) => {
                let commit =
                    str::from_utf8(&text).ok().and_then(|text| text.trim_end().parse().ok());
                return commit.map(Some).ok_or_else(|| unreadable(&path));
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory) => {
            }
            Err(error) => return Err(error).at("read", &path),
        }
        let packed = self.common_dir().join("packed-refs");
        let text = match git_file::read(&packed) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).at("read", &packed),
        };
        let line = text
            .split(|byte| *byte == b'\n')
            .find(|line| line.get(41..) == Some(reference.as_bytes()) && line[40] == b' ');
        let Some(line) = line else { return Ok(None) };
        str::from_utf8(&line[..40])
            .ok()
            .and_then(|id| id.parse().ok())
            .map(Some)
            .ok_or_else(|| unreadable(&packed))
    }

    /// Appends what git would: one line a commit, to the branch's log and to HEAD's. Not synced, as git's are not.
    pub(crate) fn write_reflogs(
        &self,
        reference: &str,
        from: Option<CommitId>,
        steps: &[ReflogEntry],
    ) -> Result<(), GitError> {
        let mut lines = String::new();
        let mut old = from;
        for step in steps {
            let zero = "0".repeat(40);
            let old_text = old.map_or(zero, |commit| commit.to_string());
            let kind = if old.is_some() { "commit" } else { "commit (initial)" };
            let (who, when) = (&step.committer, step.committed.as_second());
            writeln!(
                lines,
                "{old_text} {} {} <{}> {when} +0000\t{kind}: {}",
                step.commit,
                who.name(),
                who.email(),
                step.subject
            )
            .expect("a string takes every text");
            old = Some(step.commit);
        }
        let create = self.creates_reflogs()?;
        for path in
            [self.common_dir().join("logs").join(reference), self.git_dir().join("logs/HEAD")]
        {
            let open = || OpenOptions::new().append(true).create(create).open(&path);
            let opened = match open() {
                Err(error) if error.kind() == ErrorKind::NotFound && !create => continue,
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let folder = path.parent().expect("a log lies in a folder");
                    fs::create_dir_all(folder).at("create", folder)?;
                    open()
                }
                other => other,
            };
            opened.and_then(|mut log| log.write_all(lines.as_bytes())).at("write", &path)?;
        }
        Ok(())
    }

    /// `core.logAllRefUpdates`: where it is off, only logs that exist are carried on.
    fn creates_reflogs(&self) -> Result<bool, GitError> {
        Ok(self.config()?.text("core.logAllRefUpdates").is_none_or(|text| {
            text.eq_ignore_ascii_case("always") || git2::Config::parse_bool(text).unwrap_or(true)
        }))
    }
}
