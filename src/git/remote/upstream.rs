//! Where a branch is synced, and what may become of speaking to the remote there.

/// Where a branch is synced: the remote, and its branch there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// The remote, as `git remote` names it.
    pub remote: String,
    /// The full name of the branch there, as `refs/heads/main`.
    pub reference: String,
    /// The full name of what is remembered of it here, as `refs/remotes/origin/main`.
    pub tracking: String,
    /// Whether the branch here follows it, as `git push` asks for.
    pub followed: bool,
}

/// Why a remote could not be spoken to.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The repository has none.
    #[error("there is no remote to sync with")]
    NoRemote,
    /// It has several, and none is said to be the one.
    #[error("there are several remotes, and none of them is said to be the one to sync with")]
    Ambiguous {
        /// They.
        known: Vec<String>,
    },
    /// There is none of that name.
    #[error("there is no remote `{name}`")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// It does not answer.
    #[error("`{remote}` cannot be reached: {said}")]
    Unreachable {
        /// The remote.
        remote: String,
        /// What git said.
        said: String,
    },
    /// It answers, and does not let this user in.
    #[error("`{remote}` does not let you in: {said}")]
    Denied {
        /// The remote.
        remote: String,
        /// What git said.
        said: String,
    },
}

/// What became of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    /// The remote has it.
    Done,
    /// The remote's branch has gone on meanwhile, or somebody has its lock.
    Moved {
        /// In its own words.
        said: String,
    },
    /// The remote, or a hook, would not take it.
    Rejected {
        /// In its own words.
        said: String,
    },
}

impl Upstream {
    /// Returns the branch as people write it: `origin/main`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.remote, self.branch())
    }

    /// Returns the name of the branch there.
    pub fn branch(&self) -> &str {
        self.reference.strip_prefix("refs/heads/").unwrap_or(&self.reference)
    }
}
