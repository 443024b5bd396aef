//! Errors of the repository, each with the way out. Knows nothing of tasks or gates.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::id::{CommitId, ObjectId};
use aof_system::terminal::quoted;
use aof_system::text::age;

/// Everything that can fail when reading from or committing to the repository.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("`{path}` is not in a git repository")]
    NoRepository { path: PathBuf },
    #[error(
        "the git repository at `{path}` is bare, so it has no task files; work in a clone of it"
    )]
    Bare { path: PathBuf },
    #[error("`{path}` lies inside a repository's own folder, not in its worktree")]
    OutsideWorktree { path: PathBuf },
    #[error(
        "the repository at `{path}` names objects by SHA-256, which is not supported; use a SHA-1 repository (`git init --object-format=sha1`)"
    )]
    Sha256 { path: PathBuf },
    #[error(
        "the repository at `{path}` keeps its branches in a reftable, which is not supported; convert it with `git refs migrate --ref-format=files`"
    )]
    Reftable { path: PathBuf },
    #[error(
        "the repository at `{path}` belongs to another user, so git does not trust it; if you do, run `git config --global --add safe.directory {}`",
        quoted(&.path.to_string_lossy())
    )]
    NotOwned { path: PathBuf },

    /// Nothing can be committed. An operation of git may end soon; a detached HEAD is lasting.
    #[error("{reason}")]
    Waiting { reason: String, is_lasting: bool },
    #[error("`{path}` is held by another git process{}; nothing was committed; if no git is running, delete that file", age_text(*.age))]
    Locked { path: PathBuf, age: Option<Duration> },
    #[error("`{reference}` has moved to {} in the meantime; nothing was committed", commit_text(*.found))]
    Moved { reference: String, found: Option<CommitId> },
    #[error(
        "another version of `{path}` is staged in git's index; commit it, or take it back with `git restore --staged {}`",
        quoted(.path)
    )]
    StagedDifferently { path: String },
    #[error("`{path}` has an unresolved merge conflict in git's index; resolve it, then `git add {}` and commit", quoted(.path))]
    Unmerged { path: String },
    #[error(
        "`{path}` is marked as intended to be added; add it with `git add {0}`, or take the mark back with `git restore --staged {0}`",
        quoted(.path)
    )]
    IntentToAdd { path: String },
    #[error(
        "git would change the bytes of `{path}` in a commit (`{by}`), so it would show it as modified; add the line `{line}` at the end of `{file}`, commit that, and write the file with LF line ends"
    )]
    Converted {
        /// Relative to the project.
        path: String,
        /// The attribute or setting.
        by: &'static str,
        /// The line of attributes that keeps git from converting the file, for new tasks too.
        line: String,
        /// The attribute file that decides last.
        file: String,
    },
    #[error(
        "{} not committed here, and what comes would change {}; nothing was changed", files_text(.files), if .files.len() == 1 { "it" } else { "them" }
    )]
    WouldOverwrite {
        /// Relative to the worktree.
        files: Vec<String>,
    },
    #[error("{} of aof's own folder, which is each clone's alone; nothing was changed", files_text(.files))]
    OwnFolder {
        /// Relative to the worktree.
        files: Vec<String>,
    },
    #[error(
        "`{}` is {} {}, and it is each clone's alone: what lies there would act for you, whoever put it there, so nothing is done",
        .0.name,
        if .0.is_committed { "committed" } else { "staged" },
        .0.enclosing_checkout.as_ref().map_or_else(|| "here".to_owned(), |around| format!("in the checkout `{}`", around.display()))
    )]
    OwnFolderInGit(OwnFolder),
    #[error("`{}` is no path that git puts anything at; nothing was changed", .path.escape_debug())]
    Forbidden {
        /// The path as the tree has it.
        path: String,
    },
    #[error("{} of aof's own folder no more committed; nothing was changed", files_text(.files))]
    OwnFolderTakenOut {
        /// Relative to the worktree.
        files: Vec<String>,
    },
    #[error("the files that came could not be written, so the branch stays where it was: {detail}")]
    CheckoutFailed {
        /// The message of git or the system.
        detail: String,
    },
    #[error("a sync was interrupted, and not all of it could be settled: {}", unfinished_text(.files))]
    NotSettled {
        /// The files that could not be restored.
        files: Vec<Unsettled>,
    },
    #[error("git refuses what `{remote}` has, so nothing of it was taken: {message}; see `git fetch {}`, and fix it there", quoted(.remote))]
    ObjectsRejected {
        /// The remote.
        remote: String,
        /// The message of git.
        message: String,
    },
    #[error("git could not take in what `{remote}` sent, so nothing was changed: {message}")]
    FetchNotStored {
        /// The remote.
        remote: String,
        /// The message of git.
        message: String,
    },
    #[error("the change leaves every file as the branch has it, so there is nothing to commit")]
    Unchanged,

    #[error(
        "git does not know who you are: {missing} is not set; run\n  git config --global user.name \"Your Name\"\n  git config --global user.email \"you@example.org\""
    )]
    NoIdentity { missing: &'static str },
    #[error("`{text}` cannot be the {part} of an author: nothing printable is left of it")]
    BadPerson { part: &'static str, text: String },
    #[error("`{path}` cannot be committed: {reason}")]
    BadPath { path: String, reason: &'static str },
    #[error("`{time}` cannot be the time of a commit: git counts from 1970 on")]
    BadTime { time: jiff::Timestamp },
    #[error(
        "the commit could not be signed with `{program}`: {detail}; fix the signing, or switch it off with `git config commit.gpgSign false`"
    )]
    Signing { program: String, detail: String },
    #[error("git's index `{path}` cannot be read: {detail}")]
    Index { path: PathBuf, detail: String },
    #[error(
        "git's index `{path}` is gone, so git takes every file for deleted; nothing was committed"
    )]
    NoIndex { path: PathBuf },
    #[error(
        "git's configuration has an include, or comes from the environment, so git itself must read it, and that failed: {detail}; see `git config --list`"
    )]
    ConfigUnread {
        /// The message of git or the system.
        detail: String,
    },
    #[error("`{command}` failed: {detail}")]
    Command { command: String, detail: String },
    #[error("`{command}` failed: {cause}")]
    NotRun {
        command: String,
        /// The program could not be started or did not end in time.
        cause: io::Error,
    },

    #[error("the {word} `{id}` is damaged: {detail}; `git fsck` tells what else is; {}", anew_text(.file))]
    Damaged {
        /// The kind of the object, or the expected kind.
        word: &'static str,
        id: ObjectId,
        /// The file where the object is stored.
        file: PathBuf,
        detail: String,
    },
    #[error("the {word} `{id}` is not here{}", absence_text(*.partial))]
    Missing {
        /// The expected object kind.
        word: &'static str,
        id: ObjectId,
        /// True if this is a partial clone, so git may fetch the object on demand.
        partial: bool,
    },

    #[error(
        "the {word} `{id}` is not here: `{file}` names `{folder}`, from which this repository borrows, and that cannot be read ({detail}); bring \
         it back, or correct the line; what is lost for good comes with `git fetch --refetch` once the line is gone"
    )]
    AlternateUnreadable {
        /// The expected object kind.
        word: &'static str,
        id: ObjectId,
        /// The alternates file that names the folder.
        file: PathBuf,
        folder: PathBuf,
        /// The message of the system.
        detail: String,
    },
    #[error("`{path}` cannot be read: {detail}; {fix}")]
    Unreadable {
        path: PathBuf,
        /// The message of the system, or the fault of the file.
        detail: String,
        fix: &'static str,
    },

    #[error("cannot {action} `{path}`")]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot {action}")]
    Git {
        action: String,
        #[source]
        source: git2::Error,
    },
}

/// The places where git tracks aof's own folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnFolder {
    /// Its name in git, relative to the project.
    pub name: String,
    /// True if HEAD has it.
    pub is_committed: bool,
    /// True if the index has it.
    pub is_staged: bool,
    /// The enclosing checkout that has it, if it is not the project's own worktree.
    pub enclosing_checkout: Option<PathBuf>,
}

/// A file that recovery of an interrupted sync could neither finish nor undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsettled {
    /// Relative to the worktree.
    pub path: String,
    /// The message of git or the system.
    pub reason: String,
    /// The fix that a person can apply instead.
    pub fix: String,
}

/// Adds the action and the path to an I/O error.
pub(crate) trait At<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, GitError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, GitError> {
        self.map_err(|source| GitError::Io { action, path: path.to_owned(), source })
    }
}

/// Adds the action to an error of libgit2.
pub(crate) trait During<T> {
    fn during(self, action: impl FnOnce() -> String) -> Result<T, GitError>;
}

impl<T> During<T> for Result<T, git2::Error> {
    fn during(self, action: impl FnOnce() -> String) -> Result<T, GitError> {
        self.map_err(|source| GitError::Git { action: action(), source })
    }
}

/// Returns the fix for a damaged object file. A pack's index can be rebuilt from the pack.
fn anew_text(file: &Path) -> String {
    if file.extension().is_some_and(|end| end == "idx") {
        let pack = file.with_extension("pack");
        let pack = quoted(&pack.to_string_lossy()).into_owned();
        return format!(
            "move `{}` elsewhere, and `git index-pack {pack}` makes it again; where the pack is damaged as well, move both, and `git fetch \
             --refetch` brings what was in it again",
            file.display()
        );
    }
    let with =
        if file.extension().is_some_and(|end| end == "pack") { " and its `.idx`" } else { "" };
    format!(
        "move `{}`{with} elsewhere, and `git fetch --refetch` brings what was in it again",
        file.display()
    )
}

fn absence_text(partial: bool) -> &'static str {
    if partial {
        ", since this is a partial clone (`git clone --filter`), in which aof reads only what is here; `git fetch --refetch --no-filter` brings \
         the rest"
    } else {
        ", though something names it; `git fsck` tells what else is missing, and `git fetch --refetch` brings it again where a remote has it"
    }
}

fn files_text(files: &[String]) -> String {
    let names: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
    format!("{} {}", names.join(", "), if files.len() == 1 { "is" } else { "are" })
}

fn unfinished_text(files: &[Unsettled]) -> String {
    let one = |Unsettled { path, reason, fix }: &Unsettled| {
        format!("`{path}`: {reason}; once that is fixed: `{fix}`")
    };
    files.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Returns an error's text with its cause.
pub(crate) fn with_cause(error: &GitError) -> String {
    std::error::Error::source(error)
        .map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

fn age_text(old: Option<Duration>) -> String {
    old.map_or_else(String::new, |old| format!(" (it is {} old)", age(old)))
}

fn commit_text(commit: Option<CommitId>) -> String {
    commit.map_or_else(|| "no commit".to_owned(), |commit| format!("`{commit}`"))
}
