//! How a project lives with other clones of its repository: what project.yaml says under `git`.

use crate::domain::{BranchName, Period, RemoteName};

/// How often a synced project is synced when nothing else is said.
const EVERY: Period = Period::of_seconds(60);

/// What is said of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Git {
    /// Whether claims are confirmed by the remote, and the watcher syncs.
    pub sync: bool,
    /// The remote that the project is synced with; where nothing is said, the one that the branch follows.
    pub remote: Option<RemoteName>,
    /// The branch that the project lives on, if not on the one that is checked out.
    pub branch: Option<BranchName>,
    /// How often the watcher looks at the remote.
    pub every: Period,
}

impl Default for Git {
    fn default() -> Self {
        Self { sync: false, remote: None, branch: None, every: EVERY }
    }
}
