//! The watcher: reacts to dropped completion files, to people's edits of task files, and to commits. May use `ops` and below.
//!
//! It is level-triggered: what the system tells of files (`bell`, `sight`) only wakes it, and says which inbox files are
//! finished; what it does comes from looking at the inbox, the tasks and git (`rounds`). A lost event costs a few seconds,
//! not a completion. It keeps no state on disk but the mark that it lives, so any number of watchers may run, and a killed
//! one leaves nothing that the next does not finish.
//!
//! Nothing it meets ends it: trouble is said once, and tried again after a while. It ends on SIGINT and SIGTERM, after the change
//! under way.

mod bell;
mod desk;
mod journal;
mod mail;
mod report;
mod rounds;
mod sight;

use std::sync::Arc;
use std::time::Duration;

pub use report::{Report, Sight};

use crate::ops::{OpsError, Workspace};
use crate::signals;
use crate::store::StoreError;
use crate::store::presence::Presence;

use bell::Bell;
use rounds::Rounds;

/// Watches until it is told to stop.
pub fn watch(workspace: Workspace, wait: Duration, tell: &mut dyn FnMut(Report)) -> Result<(), OpsError> {
    let bell = bell_of(&workspace)?;
    // Fails early where no watcher can work at all; later it is only trouble.
    let presence = Presence::announce(&workspace.paths)?;
    Rounds::new(workspace, wait, bell, tell).watch(presence);
    Ok(())
}

/// Looks once: takes what is there, waits for what is still being written, and returns whether everything could be done.
pub fn watch_once(workspace: Workspace, wait: Duration, tell: &mut dyn FnMut(Report)) -> Result<bool, OpsError> {
    let bell = bell_of(&workspace)?;
    Ok(Rounds::new(workspace, wait, bell, tell).once())
}

/// Returns the bell that wakes the watcher; whoever wants the process to stop rings it.
fn bell_of(workspace: &Workspace) -> Result<Arc<Bell>, StoreError> {
    let bell = Arc::new(Bell::default());
    let rung = Arc::clone(&bell);
    signals::on_stop(move || rung.stop()).map_err(|cause| StoreError::Io {
        doing: "listen for signals in",
        path: workspace.paths.root().into(),
        cause,
    })?;
    Ok(bell)
}
