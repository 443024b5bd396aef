//! Where a runner works: what each of its threads opens the project with.

use std::path::PathBuf;
use std::time::Duration;

use crate::project::aside::{Clock, warn_in_log};
use crate::project::error::error::OpsError;
use crate::project::workspace::{Network, Workspace};

/// What a project is opened with.
#[derive(Debug, Clone)]
pub struct Project {
    /// The folder of the project.
    pub root: PathBuf,
    /// Where agents work: the same folder, unless the project lives on a branch of its own.
    pub checkout: PathBuf,
    /// The command, as waiting ones are shown it.
    pub command: String,
    /// What tells the time.
    pub clock: Clock,
    /// How long others are waited for.
    pub wait: Duration,
    /// Whether the remote of a synced project is asked before something is claimed.
    pub network: Network,
    /// The program that aof is: agents are told where to find it.
    pub aof: PathBuf,
}

impl Project {
    /// Opens it anew, if what runners left there is this clone's own.
    pub fn open(&self) -> Result<Workspace, OpsError> {
        let mut workspace =
            Workspace::at(&self.root, self.command.clone(), self.clock, self.wait, warn_in_log)?;
        self.checkout.clone_into(&mut workspace.checkout);
        workspace.network = self.network;
        workspace.own_folder_is_ours()?;
        Ok(workspace)
    }
}
