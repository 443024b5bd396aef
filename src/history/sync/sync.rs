//! The project and the same project on other machines, brought together through a remote of git: any host, no server of ours.
//!
//! ```text
//!   fetch        what the remote has                                            no lock held
//!   compare      nothing to do | only they went on | only we did | both did
//!   merge        in memory: the remote's commit, with our tasks merged into it by meaning; the commit is on no branch yet
//!   push         plain: the remote takes it only if its branch is where it was; else from the start, at most 10 times
//!   bring        under the writer lock and git's own: worktree, index and branch come to what the remote has
//! ```
//! The push comes before the local branch moves, so a merge that came second leaves nothing behind. Where the remote does not answer
//! any more, or would not take it, the merge comes in all the same, and waits: what others did is known by then. A kill before the
//! push leaves unreachable objects; one after it leaves this clone behind the remote, which the next sync brings in; one while files
//! are brought in is finished by the next command (`heal`).
//!
//! Nothing is forced, no commit is rewritten. What is not the engine's to merge is left to git, and said so.

use crate::domain::TaskId;
use crate::git::log::trailers::Trailer;
use crate::git::{CommitId, Upstream};

/// Which way a sync begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    /// By asking what the remote has.
    Fetch,
    /// By offering what is here, as if the remote were where it was last seen.
    Push,
}

/// What becomes of commits that are not the engine's, nor edits of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strangers {
    /// They go to the remote with the rest, where no merge is needed: a person asked for it.
    Offered,
    /// They stay, and so does all that came after them: it is for their author to push them.
    Kept,
}

/// What a sync came to.
#[derive(Debug)]
pub(crate) struct Synced {
    /// Where it synced with.
    pub upstream: Upstream,
    /// The command that does it again.
    pub again: String,
    /// The commits that came from others, newest first.
    pub came: Vec<Line>,
    /// The commits that went to the remote, newest first.
    pub went: Vec<Line>,
    /// The merge that joined both, if one had to be made.
    pub merge: Option<CommitId>,
    /// What counts no more, since somebody else was first.
    pub superseded: Vec<Loss>,
    /// How many times it was offered.
    pub rounds: u32,
    /// Commits here that the remote does not have.
    pub ahead: usize,
    /// Commits of the remote that are not here.
    pub behind: usize,
    /// How it ended.
    pub end: End,
}

/// A commit, in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// The commit.
    pub commit: CommitId,
    /// The first line of its message.
    pub subject: String,
    /// Who wrote it.
    pub author: String,
}

/// Something that was said here and counts no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Loss {
    /// An entry of a history: the visit had ended otherwise. The merge commit lists it.
    Entry {
        /// The task.
        task: TaskId,
        /// How the merge commit lists it: the visit, the completion, by whom, and what it said.
        trailer: Trailer,
    },
    /// What leaves no entry: a claim, a hold, an unblocking.
    Word {
        /// The task.
        task: TaskId,
        /// What it was.
        what: String,
    },
}

/// How a sync ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// Here and there is the same.
    Same,
    /// The remote cannot be reached: what is here waits.
    Offline {
        /// What git said.
        said: String,
    },
    /// The remote, or a hook, would not take it.
    Rejected {
        /// In its own words.
        said: String,
    },
    /// A merge is needed, or a push, which is not the engine's to make.
    Left(Left),
    /// The remote went on each time.
    Unsettled,
    /// Nothing was done: it was only to be shown.
    Rehearsed,
}

/// Why something is left to git and to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Left {
    /// A commit of a person changes more than tasks.
    Stranger {
        /// It.
        commit: CommitId,
        /// What it changes.
        path: String,
        /// Whether the remote went on meanwhile, so that a merge is needed.
        apart: bool,
    },
    /// These files are not committed, and the remote changed them.
    InTheWay {
        /// Relative to the worktree.
        files: Vec<String>,
    },
    /// The remote has files in aof's own folder, which is this clone's alone.
    OwnFolder {
        /// Relative to the worktree.
        files: Vec<String>,
    },
    /// The remote has something at a path at which git puts nothing: outside of the worktree, or in git's own folder.
    Forbidden {
        /// As its tree has it.
        path: String,
    },
    /// The remote has such files no more, and this clone has them.
    OwnFolderTakenOut {
        /// Relative to the worktree.
        files: Vec<String>,
    },
    /// The remote's branch was rewritten: commits that it had, and that are here, are not in it any more.
    Rewritten {
        /// The newest commit here that it had.
        had: CommitId,
        /// Where it is now.
        has: CommitId,
    },
    /// The remote has no such branch, and this one does not follow it: nobody has said that it is to be published there.
    Unpublished {
        /// This branch.
        branch: String,
        /// The branch elsewhere that it follows, if it does.
        follows: Option<String>,
    },
    /// The remote has no such branch any more: somebody took it away.
    Deleted {
        /// This branch.
        branch: String,
        /// Where it was there, as far as is remembered.
        had: Option<CommitId>,
    },
    /// These tasks were changed on both sides in what is people's, or cannot be merged.
    Conflict {
        /// Their files, with why.
        files: Vec<(String, String)>,
    },
    /// The histories have nothing in common.
    Unrelated {
        /// Whether history ends early here, so that this may only look so.
        shallow: bool,
    },
}
