//! Joins a branch with another one in a worktree that exists for that alone, and brings a checked-out branch forward.

use std::process::Command;
use std::time::Duration;

use crate::command;
use crate::error::GitError;
use crate::id::CommitId;
use crate::log::trailers::Trailer;
use crate::objects::commit::Person;
use crate::repository::handle::Repository;
use crate::repository::references::Head;

/// The time limit for merging, and for writing the files.
const TIMEOUT: Duration = Duration::from_mins(30);

/// The way in which a branch is joined with another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinStyle {
    /// A commit with two parents.
    Merge,
    /// One commit with all changes.
    Squash,
    /// Each commit of the branch again.
    Rebase,
}

/// A join to make.
#[derive(Debug, Clone, Copy)]
pub struct JoinDraft<'a> {
    pub style: JoinStyle,
    pub onto: CommitId,
    /// The newest commit of the branch that is joined with it.
    pub head: CommitId,
    /// The author of a merge, and the committer of all commits. A squash keeps the author of the head.
    pub person: &'a Person,
    /// The message of a merge or a squash, without the trailer.
    pub message: &'a str,
    /// The last line of the newest commit's message.
    pub trailer: &'a Trailer,
}

/// The result of a join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joined {
    /// The commit, which is checked out now.
    Done(CommitId),
    /// The files that both sides changed.
    Conflict(Vec<String>),
    /// The rebase left no commit: the target has them all.
    Nothing,
}

impl Repository {
    /// Joins a branch with the commit that is checked out here with a detached HEAD. Runs no hook. After a conflict, the worktree is of no
    /// more use.
    pub fn join(&self, draft: &JoinDraft<'_>) -> Result<Joined, GitError> {
        let head = draft.head.to_string();
        let onto = draft.onto.to_string();
        let words: &[&str] = match draft.style {
            JoinStyle::Merge => {
                &["merge", "--quiet", "--no-ff", "--no-commit", "--no-verify-signatures", &head]
            }
            JoinStyle::Squash => &["merge", "--quiet", "--squash", "--no-verify-signatures", &head],
            JoinStyle::Rebase => {
                let mut git = self.joining_git(draft.person);
                git.args(["checkout", "--quiet", "--detach", &head]);
                command::run_git_for(git, &[], TIMEOUT)?;
                &["rebase", "--quiet", "--no-stat", &onto]
            }
        };
        let mut git = self.joining_git(draft.person);
        git.args(words);
        if let Err(error) = command::run_git_for(git, &[], TIMEOUT) {
            let files = self.unmerged_files()?;
            return if files.is_empty() { Err(error) } else { Ok(Joined::Conflict(files)) };
        }
        let mut git = self.joining_git(draft.person);
        git.args(["commit", "--no-verify", "--quiet", "--allow-empty", "--cleanup=verbatim"]);
        let message = match draft.style {
            JoinStyle::Rebase => {
                let newest = self.checked_out_commit()?;
                if newest == draft.onto {
                    return Ok(Joined::Nothing);
                }
                git.arg("--amend");
                self.log_entry(newest)?.message
            }
            JoinStyle::Squash => {
                let author = self.log_entry(draft.head)?.author;
                git.arg(format!("--author={} <{}>", author.name(), author.email()));
                draft.message.to_owned()
            }
            JoinStyle::Merge => draft.message.to_owned(),
        };
        git.arg("--file=-");
        let message = self.with_trailer(&message, draft.trailer)?;
        command::run_git_for(git, message.as_bytes(), TIMEOUT)?;
        self.checked_out_commit().map(Joined::Done)
    }

    /// Moves the branch that is checked out here, and its files, to a later commit. Fails with `Moved` if it is not at that commit.
    pub fn bring_forward(&self, head: &Head, to: CommitId) -> Result<(), GitError> {
        let now = self.head()?;
        if (&now.reference, now.commit) != (&head.reference, head.commit) {
            return Err(GitError::Moved { reference: now.reference, found: now.commit });
        }
        let mut git = self.git_command();
        git.args(["-c", "merge.autoStash=false", "merge", "--quiet", "--ff-only"]);
        git.arg(to.to_string());
        command::run_git_for(git, &[], TIMEOUT).map(drop)
    }

    /// Returns a git command whose commits are that person's, and which changes nothing outside this worktree.
    fn joining_git(&self, person: &Person) -> Command {
        let mut git = self.git_command();
        git.args(["-c", "rebase.updateRefs=false", "-c", "rebase.autoStash=false"]);
        git.args(["-c", "rebase.autoSquash=false", "-c", "merge.autoStash=false"]);
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), person.name());
            git.env(format!("GIT_{role}_EMAIL"), person.email());
        }
        git.env("GIT_EDITOR", "true");
        git
    }

    fn unmerged_files(&self) -> Result<Vec<String>, GitError> {
        let mut git = self.git_command();
        git.args(["diff", "--name-only", "--diff-filter=U", "-z"]);
        let output = command::run_git_for(git, &[], TIMEOUT)?;
        let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    fn with_trailer(&self, message: &str, trailer: &Trailer) -> Result<String, GitError> {
        let mut git = self.git_command();
        git.args(["interpret-trailers", "--trailer", &trailer.to_string()]);
        let text = command::run_git(git, message.as_bytes())?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn checked_out_commit(&self) -> Result<CommitId, GitError> {
        self.head_for_reading()?.commit.ok_or(GitError::Unchanged)
    }
}
