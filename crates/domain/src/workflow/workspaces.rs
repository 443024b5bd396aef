//! Workspaces: the git worktrees in which agents work at tasks, each on the task's own branch.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{BranchName, CommitName, Digest};

/// The number of digits of a commit's name that people read.
const SHORT: usize = 7;

words!(
    /// The folder in which an agent's program works.
    WorkFolder, "a workspace", {
        /// The folder where people work.
        Checkout = "checkout",
        /// A git worktree of the task.
        Worktree = "worktree",
    }
);

words!(
    /// The treatment of files that an agent left uncommitted at the end of its visit.
    UncommittedPolicy, "a treatment of uncommitted files", {
        /// They are committed as the agent's.
        Commit = "commit",
        /// The verdict is refused.
        Refuse = "refuse",
    }
);

/// The settings for the worktrees of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceSettings {
    /// The folder that contains them, relative to the folder where people work.
    pub root: String,
    /// The branch that new ones begin at; by default the one that is checked out where the runner is started.
    pub base: Option<BranchName>,
    /// The beginning of the names of their branches.
    pub prefix: BranchName,
    /// The programs that prepare a new one, each with its arguments.
    pub setup: Vec<Vec<String>>,
    /// The ignored files that are copied into a new one, as paths or patterns.
    pub copy: Vec<String>,
    pub uncommitted: UncommittedPolicy,
}

impl WorkspaceSettings {
    /// The default folder that contains them.
    pub const ROOT: &str = ".aof/work";
}

impl Default for WorkspaceSettings {
    fn default() -> Self {
        Self {
            root: Self::ROOT.to_owned(),
            base: None,
            prefix: "aof-work".parse().expect("it is letters"),
            setup: Vec::new(),
            copy: Vec::new(),
            uncommitted: UncommittedPolicy::Commit,
        }
    }
}

/// The branch of a task's work when a visit ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkBranch {
    pub branch: BranchName,
    /// The branch that the work began at, and is to be landed on.
    pub base: BranchName,
    /// The newest commit of the work.
    pub head: CommitName,
}

impl fmt::Display for WorkBranch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = self.head.as_str();
        let short = &head[..SHORT.min(head.len())];
        write!(f, "{} from {}, head {short}", self.branch, self.base)
    }
}

/// The landing of a task's work on a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    /// The branch that the work is on now.
    pub onto: BranchName,
    /// The commit that brought it there.
    pub commit: CommitName,
    /// The tree of that commit, which the checks have seen.
    pub tree: CommitName,
    pub checks: Vec<LandingCheck>,
}

/// A check that passed before a landing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingCheck {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Its exit status.
    pub exit: i32,
    /// The digest of what it printed.
    pub digest: Digest,
}
