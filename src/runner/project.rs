//! Where a runner works: what each of its threads opens the project with.

use std::path::PathBuf;
use std::time::Duration;

use crate::ops::{Clock, OpsError, Workspace};

/// What a project is opened with.
#[derive(Debug, Clone)]
pub struct Project {
    /// The folder of the project.
    pub root: PathBuf,
    /// The command, as waiting ones are shown it.
    pub command: String,
    /// What tells the time.
    pub clock: Clock,
    /// How long others are waited for.
    pub wait: Duration,
    /// The program that aof is: agents are told where to find it.
    pub aof: PathBuf,
}

impl Project {
    /// Opens it anew.
    pub fn open(&self) -> Result<Workspace, OpsError> {
        Workspace::at(&self.root, self.command.clone(), self.clock, self.wait, |_| {})
    }
}
