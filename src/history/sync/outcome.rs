//! What a sync with a remote came to, in words and in JSON.
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
//! are brought in is finished by the next command.
//!
//! Nothing is forced, and no commit is rewritten. What is not the engine's to merge is left to git and people.

use serde::Serialize;
use serde_json::{Value, json};

use super::left_to_people::LeftToPeople;
use crate::domain::{TaskId, listed};
use crate::git::log::trailers::Trailer;
use crate::git::{CommitId, RemoteError, Upstream};

/// What a sync came to.
#[derive(Debug)]
pub(crate) struct Synced {
    pub upstream: Upstream,
    /// The commits that came from others, newest first.
    pub came: Vec<CommitLine>,
    /// The commits that went to the remote, newest first.
    pub went: Vec<CommitLine>,
    /// The merge that joined both, if one had to be made.
    pub merge: Option<CommitId>,
    /// What no longer counts, since somebody else was first.
    pub superseded: Vec<Loss>,
    /// How many times something was offered to the remote.
    pub rounds: u32,
    /// Commits here that the remote does not have.
    pub ahead: usize,
    /// Commits of the remote that are not here.
    pub behind: usize,
    pub end: SyncEnd,
}

/// A commit in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CommitLine {
    pub commit: CommitId,
    pub subject: String,
    pub author: String,
}

/// Something that was said here and no longer counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loss {
    pub task: TaskId,
    /// What it was.
    pub what: String,
    /// How the merge commit lists it: only entries are listed, and not claims, holds and unblockings.
    pub trailer: Option<Trailer>,
}

/// How a sync ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SyncEnd {
    /// Here and there is the same.
    Same,
    /// The remote cannot be reached: what is here waits.
    Offline { said: String },
    /// The remote, or a hook, would not take it.
    Rejected { said: String },
    /// A merge or a push is needed that is not the engine's to make.
    Left(LeftToPeople),
    /// The remote went on each time.
    Unsettled,
    /// A dry run.
    Rehearsed,
}

impl RemoteError {
    /// Returns the code that stands for it in JSON.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoRemote => "no_remote",
            Self::Ambiguous { .. } => "ambiguous_remote",
            Self::Unknown { .. } => "unknown_remote",
            Self::Unreachable { .. } => "offline",
            Self::Denied { .. } => "denied",
        }
    }

    /// Returns what to do about it.
    pub fn fix(&self) -> String {
        match self {
            Self::NoRemote => {
                "add one: `git remote add origin URL`; any git host will do, or a bare repository on a shared disk"
                    .to_owned()
            }
            Self::Ambiguous { known } => {
                format!("say which: `--remote {}`, or `git: {{remote: {}}}` in project.yaml", known[0], known[0])
            }
            Self::Unknown { known, .. } if known.is_empty() => "add it: `git remote add NAME URL`".to_owned(),
            Self::Unknown { known, .. } => format!("there is {}", listed(known)),
            Self::Unreachable { remote, .. } => {
                format!("see whether `git fetch {remote}` works; what is here waits, and nothing is lost")
            }
            Self::Denied { remote, .. } => format!(
                "see whether `git fetch {remote}` works: credentials, keys and tokens are those of your git; without a terminal nobody is asked for a passphrase"
            ),
        }
    }
}

impl Synced {
    /// Returns whether nothing came and nothing went.
    pub(crate) fn is_idle(&self) -> bool {
        self.came.is_empty() && self.went.is_empty() && self.superseded.is_empty()
    }

    /// Returns what keeps both sides apart, and what to do about it.
    pub(crate) fn trouble(&self) -> Option<(String, String)> {
        let name = self.upstream.name();
        let waits = match self.ahead {
            0 => "nothing waits here".to_owned(),
            1 => "1 commit waits here".to_owned(),
            many => format!("{many} commits wait here"),
        };
        Some(match &self.end {
            SyncEnd::Same | SyncEnd::Rehearsed => return None,
            SyncEnd::Offline { said } => (
                format!("{name} cannot be reached: {said}"),
                format!("{waits}; sync again when it can"),
            ),
            SyncEnd::Rejected { said } => (format!("{name} would not take it: {said}"), waits),
            SyncEnd::Unsettled => (
                format!("{name} went on each of {} times", self.rounds),
                format!("{waits}; sync again"),
            ),
            SyncEnd::Left(left) => (left.problem.clone(), left.fix.clone()),
        })
    }

    /// Returns it as `--json` shows it.
    pub(crate) fn value(&self) -> Value {
        let (state, problem, left) = match &self.end {
            SyncEnd::Same => ("synced", None, None),
            SyncEnd::Rehearsed => ("rehearsed", None, None),
            SyncEnd::Offline { said } => ("offline", Some(said), None),
            SyncEnd::Rejected { said } => ("rejected", Some(said), None),
            SyncEnd::Unsettled => ("unsettled", None, None),
            SyncEnd::Left(left) => (left.code, Some(&left.problem), Some(left)),
        };
        let loss = |loss: &Loss| json!({"task": loss.task.as_str(), "what": loss.what});
        json!({
            "state": state,
            "remote": self.upstream.remote,
            "branch": self.upstream.branch(),
            "came": self.came,
            "went": self.went,
            "merge": self.merge,
            "superseded": self.superseded.iter().map(loss).collect::<Vec<_>>(),
            "rounds": self.rounds,
            "ahead": self.ahead,
            "behind": self.behind,
            "problem": problem,
            "fix": left.map(|left| &left.fix),
            "files": left.map_or(&[][..], |left| &left.files),
        })
    }
}
