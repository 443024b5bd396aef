//! Whoever has files delivered, and what is told of each.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::domain::Digest;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::Refusal;
use crate::storage::inbox::Witnessed;
use crate::tasks::complete::Completed;

/// What became of one file of the inbox.
pub(crate) enum Delivered {
    /// It counted.
    Completed {
        /// What it was called.
        name: String,
        /// What it did.
        completed: Box<Completed>,
    },
    /// It was refused.
    Refused {
        /// What it was called.
        name: String,
        /// The reason, as it stands beside the file.
        reason: Value,
        /// Where the file is now.
        path: PathBuf,
    },
    /// It stays, because nothing can be written now; it is tried again.
    Waiting {
        /// What it was called.
        name: String,
        /// What it waits for.
        error: OpsError,
    },
}

/// Whoever has files delivered.
pub(crate) trait Recipient {
    /// Returns what somebody saw of the file of that name in the inbox.
    fn witnessed(&self, name: &OsStr) -> Witnessed;
    /// Is told what became of a file.
    fn told(&mut self, delivered: Delivered);
    /// Is told of a completion that came after another one of the same visit, before its file is refused.
    fn late(
        &mut self,
        workspace: &Workspace,
        refusal: &Refusal,
        delivery: &Digest,
    ) -> Result<(), OpsError>;
    /// Is told why somebody could not be told of something; what it was about went its way all the same.
    fn untold(&mut self, problem: String);
    /// Leaves the repository to others for a while, after work that took so long; says whether to go on.
    fn rest(&mut self, worked: Duration) -> ControlFlow<()>;
}
