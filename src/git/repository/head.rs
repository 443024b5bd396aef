//! What is checked out: the branch, its commit, and whether git is in the middle of something.

use std::path::Path;

use git2::{Reference, RepositoryState};
use rustix::fs::{Dir, Mode, OFlags};

use super::handle::Repository;
use crate::git::error::{At, During, GitError};
use crate::git::id::{CommitId, ObjectId};
use crate::git::objects::git_file;
use crate::git::objects::git_file::read_to_end;
use crate::system::shell::quoted;

/// The checked-out branch and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Full name, as `refs/heads/main`.
    pub reference: String,
    /// `None` before the first commit.
    pub commit: Option<CommitId>,
}

impl Head {
    /// Returns the branch's name as people write it.
    pub fn branch(&self) -> &str {
        self.reference.strip_prefix("refs/heads/").unwrap_or(&self.reference)
    }
}

impl Repository {
    /// Returns the checked-out branch; `Waiting` while git is in the middle of something or no branch is checked out.
    pub fn head(&self) -> Result<Head, GitError> {
        if may_be_unfinished(self.git_dir())
            && let Some(reason) = self.unfinished()
        {
            return Err(GitError::Waiting { reason });
        }
        self.checked_out()
    }

    /// Returns the command that goes on with what git is in the middle of, once all is solved and added. `git commit` would end a merge, and
    /// leave the rest of a rebase undone.
    pub fn go_on(&self) -> Option<&'static str> {
        match self.git().state() {
            RepositoryState::Clean | RepositoryState::Bisect => None,
            RepositoryState::Merge => Some("git merge --continue"),
            RepositoryState::Revert | RepositoryState::RevertSequence => {
                Some("git revert --continue")
            }
            RepositoryState::CherryPick | RepositoryState::CherryPickSequence => {
                Some("git cherry-pick --continue")
            }
            RepositoryState::Rebase
            | RepositoryState::RebaseInteractive
            | RepositoryState::RebaseMerge => Some("git rebase --continue"),
            RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => {
                Some("git am --continue")
            }
        }
    }

    /// Returns the command that takes back whatever git is in the middle of, so that a branch is checked out again; nothing where no more is
    /// missing than that.
    pub fn way_out(&self) -> Option<String> {
        self.give_up_rebase().or_else(|| taken_back_by(self.git().state()).map(str::to_owned))
    }

    /// Returns the command that gives up a rebase that can neither go on nor be taken back; nothing where there is none. Git has lost
    /// what it knew of it, or the branch has moved since it began, as one with `--autostash` lets it: `--continue` fails for ever, and
    /// `--abort` moves the branch back over what was committed meanwhile.
    fn give_up_rebase(&self) -> Option<String> {
        let folder = self.git_dir().join("rebase-merge");
        let read = |name: &str| {
            git_file::read_text(&folder.join(name)).ok().map(|text| text.trim_end().to_owned())
        };
        let quit = "git rebase --quit";
        let Some(reference) = read("head-name") else {
            // Before it writes that, it has only put aside what was changed, and gone nowhere.
            return (folder.is_dir() && !folder.join("head-name").exists())
                .then(|| quit.to_owned());
        };
        let begun: CommitId = read("orig-head")?.parse().ok()?;
        let now = reference
            .starts_with("refs/heads/")
            .then(|| self.read_reference(&reference).ok())
            .flatten()??;
        let branch = Head { reference, commit: Some(now) };
        (now != begun).then(|| format!("{quit} && git switch {}", quoted(branch.branch())))
    }

    /// Says what git is in the middle of, and how to end it.
    fn unfinished(&self) -> Option<String> {
        let reason = unfinished(self.git().state())?;
        Some(self.give_up_rebase().map_or(reason, |command| {
            format!(
                "a rebase is in progress that can neither go on nor be taken back; give it up with `{command}` (what it had put aside is in \
                 `git stash` then)"
            )
        }))
    }

    /// Returns what is checked out, whatever git is in the middle of: enough to read by, never to commit to.
    pub fn look(&self) -> Result<Head, GitError> {
        match self.checked_out() {
            Err(GitError::Waiting { .. }) => {
                Ok(Head { reference: "HEAD".to_owned(), commit: self.resolve("HEAD")? })
            }
            other => other,
        }
    }

    fn checked_out(&self) -> Result<Head, GitError> {
        if let Some(head) = self.plain_branch() {
            return Ok(head);
        }
        let reference = self.branch()?;
        let commit = self.resolve(&reference)?;
        Ok(Head { reference, commit })
    }

    /// Reads HEAD and the branch where both are plain files, as they nearly always are; else says nothing.
    fn plain_branch(&self) -> Option<Head> {
        let text = read_small(&self.git_dir().join("HEAD"))?;
        let reference = text.strip_prefix("ref: ")?.trim_end();
        if !reference.starts_with("refs/heads/") || !Reference::is_valid_name(reference) {
            return None;
        }
        let commit = read_small(&self.reference_path(reference))?.trim_end().parse().ok()?;
        Some(Head { reference: reference.to_owned(), commit: Some(commit) })
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
                    return Err(GitError::Waiting { reason: reason.to_owned() });
                }
                None => return Ok(name),
            }
        }
    }

    /// Fails where something stands in the place of a reference that nobody can read.
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

/// Returns a file of a few lines; a symlink, which old versions of git wrote, is none.
fn read_small(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    String::from_utf8(read_to_end(file, 1 << 10).ok()?).ok()
}

/// Says whether something in git's folder has a name that git gives to what is under way. Only then is it worth asking.
fn may_be_unfinished(git_dir: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(entries) = rustix::fs::open(git_dir, flags, Mode::empty()).and_then(Dir::new) else {
        return true;
    };
    entries.into_iter().any(|entry| {
        let Ok(entry) = entry else { return true };
        match entry.file_name().to_bytes() {
            b"FETCH_HEAD" | b"ORIG_HEAD" => false,
            name => {
                name.ends_with(b"_HEAD") || name.starts_with(b"rebase-") || name == b"BISECT_LOG"
            }
        }
    })
}

/// Returns the command that takes back what git is in the middle of.
fn taken_back_by(state: RepositoryState) -> Option<&'static str> {
    match state {
        RepositoryState::Clean => None,
        RepositoryState::Bisect => Some("git bisect reset"),
        RepositoryState::Merge => Some("git merge --abort"),
        RepositoryState::Revert | RepositoryState::RevertSequence => Some("git revert --abort"),
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => {
            Some("git cherry-pick --abort")
        }
        RepositoryState::Rebase
        | RepositoryState::RebaseInteractive
        | RepositoryState::RebaseMerge => Some("git rebase --abort"),
        RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => {
            Some("git am --abort")
        }
    }
}

/// Says what git is in the middle of, and how to end it.
fn unfinished(state: RepositoryState) -> Option<String> {
    let (what, end) = match state {
        RepositoryState::Clean => return None,
        RepositoryState::Merge => ("merge", "`git merge --continue` or `git merge --abort`"),
        RepositoryState::Revert | RepositoryState::RevertSequence => {
            ("revert", "`git revert --continue` or `git revert --abort`")
        }
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => {
            ("cherry-pick", "`git cherry-pick --continue` or `git cherry-pick --abort`")
        }
        RepositoryState::Bisect => ("bisect", "`git bisect reset`"),
        RepositoryState::Rebase
        | RepositoryState::RebaseInteractive
        | RepositoryState::RebaseMerge => {
            ("rebase", "`git rebase --continue` or `git rebase --abort`")
        }
        RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => (
            "`git am` or rebase",
            "`git am --continue` or `git am --abort` (`git rebase ..` if it is one)",
        ),
    };
    Some(format!("a {what} is in progress; end it with {end}"))
}
