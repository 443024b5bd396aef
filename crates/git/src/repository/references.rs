//! Branches on disk: reading one uncached, its reflog, HEAD, and operations in progress.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use git2::{Reference, RepositoryState};
use jiff::Timestamp;
use rustix::fs::{Access, Mode, OFlags, access};

use super::handle::Repository;
use crate::error::{At, During, GitError};
use crate::id::{CommitId, ObjectId};
use crate::objects::commit::Person;
use crate::objects::git_file;
use aof_system::disk::read_to_end;

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

    /// Reads a branch uncached: its own file, otherwise its line in `packed-refs`.
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

    /// Appends one line per commit to the reflogs of the branch and of HEAD, as git does. Like git's, they are not synced.
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

    /// Returns whether reflogs are created, by `core.logAllRefUpdates`; if not, only existing ones are continued.
    fn creates_reflogs(&self) -> Result<bool, GitError> {
        Ok(self.config()?.text("core.logAllRefUpdates").is_none_or(|text| {
            text.eq_ignore_ascii_case("always") || git2::Config::parse_bool(text).unwrap_or(true)
        }))
    }
}

/// The checked-out branch and its commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Full name, as `refs/heads/main`.
    pub reference: String,
    /// `None` before the first commit.
    pub commit: Option<CommitId>,
    /// The length of the branch's reflog. It differs if the branch has moved and moved back.
    pub reflog: u64,
}

impl Head {
    /// Returns the branch's name as people write it.
    pub fn branch(&self) -> &str {
        self.reference.strip_prefix("refs/heads/").unwrap_or(&self.reference)
    }
}

impl Repository {
    /// Returns the checked-out branch. Fails with `Waiting` during a merge, rebase or similar, and with a detached HEAD.
    pub fn head(&self) -> Result<Head, GitError> {
        if let Some((command, end)) = self.in_progress() {
            let name = command.trim_start_matches("git ");
            let ends = if command == BISECT {
                format!("`{command} {end}`")
            } else {
                format!("`{command} --continue` or `{command} {end}`")
            };
            let reason = format!("a {name} is in progress; end it with {ends}");
            return Err(GitError::Waiting { reason, is_lasting: false });
        }
        self.checked_out()
    }

    /// Returns the command that continues the operation in progress once all conflicts are resolved and added; `git commit` would
    /// not continue a rebase.
    pub fn continue_command(&self) -> Option<String> {
        let (command, _) = self.in_progress()?;
        (command != BISECT).then(|| format!("{command} --continue"))
    }

    /// Returns the git command in progress, and the argument that aborts it.
    fn in_progress(&self) -> Option<(&'static str, &'static str)> {
        let is_there = |name: &&str| access(self.git_dir().join(name), Access::EXISTS).is_ok();
        if TRACES.iter().any(is_there) { in_progress(self.git().state()) } else { None }
    }

    /// Returns the checked-out commit, also in the middle of a merge or rebase. Use it only for reading: the branch may be unknown.
    pub fn head_for_reading(&self) -> Result<Head, GitError> {
        match self.checked_out() {
            Err(GitError::Waiting { .. }) => {
                Ok(Head { reference: "HEAD".to_owned(), commit: self.resolve("HEAD")?, reflog: 0 })
            }
            other => other,
        }
    }

    fn checked_out(&self) -> Result<Head, GitError> {
        if let Some(head) = self.plain_branch() {
            return Ok(head);
        }
        let reference = self.branch()?;
        let reflog = self.reflog_length(&reference);
        let commit = self.resolve(&reference)?;
        Ok(Head { reference, commit, reflog })
    }

    /// Returns the length of a reflog. Read it before the branch, so that a move in between is noticed.
    fn reflog_length(&self, reference: &str) -> u64 {
        let log = self.common_dir().join("logs").join(reference);
        fs::metadata(log).map_or(0, |found| found.len())
    }

    /// Reads HEAD and the branch if both are plain files, as they nearly always are; otherwise returns `None`.
    fn plain_branch(&self) -> Option<Head> {
        let text = read_small(&self.git_dir().join("HEAD"))?;
        let reference = text.strip_prefix("ref: ")?.trim_end();
        if !reference.starts_with("refs/heads/") || !Reference::is_valid_name(reference) {
            return None;
        }
        let reflog = self.reflog_length(reference);
        let commit = read_small(&self.reference_path(reference))?.trim_end().parse().ok()?;
        Some(Head { reference: reference.to_owned(), commit: Some(commit), reflog })
    }

    /// Follows HEAD to the name of a branch.
    fn branch(&self) -> Result<String, GitError> {
        let mut name = "HEAD".to_owned();
        loop {
            self.check_reference(&name)?;
            let reference = match self.git().find_reference(&name) {
                Ok(reference) => reference,
                Err(error) if error.code() == git2::ErrorCode::NotFound && name != "HEAD" => {
                    return Ok(name);
                }
                Err(error) => return Err(error).during(|| format!("read `{name}`")),
            };
            match reference.symbolic_target().ok().flatten() {
                Some(target) => target.clone_into(&mut name),
                None if name == "HEAD" => {
                    let reason = "no branch is checked out (detached HEAD), so commits would be lost; check one out, as `git switch main`";
                    return Err(GitError::Waiting { reason: reason.to_owned(), is_lasting: true });
                }
                None => return Ok(name),
            }
        }
    }

    /// Fails if the file of a reference cannot be read without blocking, for example a pipe.
    pub(crate) fn check_reference(&self, name: &str) -> Result<(), GitError> {
        let folder = if name == "HEAD" { self.git_dir() } else { self.common_dir() };
        for path in [folder.join(name), self.common_dir().join("packed-refs")] {
            git_file::check(&path).at("read", &path)?;
        }
        Ok(())
    }

    pub(crate) fn resolve(&self, reference: &str) -> Result<Option<CommitId>, GitError> {
        self.check_reference(reference)?;
        match self.git().refname_to_id(reference) {
            Ok(id) => Ok(Some(CommitId::new(ObjectId::from_git(id)))),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error).during(|| format!("read `{reference}`")),
        }
    }
}

/// Returns the text of a small file; `None` for a symlink, which old versions of git wrote.
fn read_small(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    String::from_utf8(read_to_end(file, 1 << 10).ok()?).ok()
}

const BISECT: &str = "git bisect";

/// The files and folders by which libgit2 recognizes an operation in progress.
const TRACES: [&str; 6] =
    ["rebase-merge", "rebase-apply", "MERGE_HEAD", "REVERT_HEAD", "CHERRY_PICK_HEAD", "BISECT_LOG"];

fn in_progress(state: RepositoryState) -> Option<(&'static str, &'static str)> {
    Some(match state {
        RepositoryState::Clean => return None,
        RepositoryState::Bisect => (BISECT, "reset"),
        RepositoryState::Merge => ("git merge", "--abort"),
        RepositoryState::Revert | RepositoryState::RevertSequence => ("git revert", "--abort"),
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => {
            ("git cherry-pick", "--abort")
        }
        RepositoryState::Rebase
        | RepositoryState::RebaseInteractive
        | RepositoryState::RebaseMerge => ("git rebase", "--abort"),
        RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => {
            ("git am", "--abort")
        }
    })
}
