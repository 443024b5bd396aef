//! The watcher: reacts to dropped completion files, to people's edits of task files, and to commits. May use `ops` and below.
//!
//! It is level-triggered: what the system tells of files (`bell`, `sight`) only wakes it, and says which inbox files are
//! finished; what it does comes from looking at the inbox, the tasks and git (`rounds`). A lost event costs a few seconds,
//! not a completion. It keeps no state on disk but the mark that it lives, so any number of watchers may run, and a killed
//! one leaves nothing that the next does not finish.
//!
//! Nothing it meets ends it: trouble is said once, and tried again after a while. It ends on SIGINT and SIGTERM, after the change
//! under way.

use std::sync::Arc;
use std::time::Duration;

use super::report::Report;

use crate::observability::endpoint::server::Endpoint;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::StoreError;
use crate::storage::watcher_presence::Presence;
use crate::system::signals;

use super::metrics_worker::MetricsWorker;
use super::run::Watcher;
use super::sync_requests::SyncRequests;
use super::sync_worker::SyncWorker;
use super::wakeup::Wakeup;

/// Watches until it is told to stop. Whoever asks at the endpoint is shown the project in numbers.
pub(crate) fn watch(
    workspace: Workspace,
    wait: Duration,
    endpoint: Option<Endpoint>,
    tell: &mut dyn FnMut(Report),
) -> Result<(), OpsError> {
    workspace.own_folder_is_ours()?;
    let wakeup = bell_of(&workspace)?;
    let fault = |doing, cause| StoreError::Io { doing, path: workspace.paths.root().into(), cause };
    // Fails early where no watcher can work at all; later it is only trouble.
    let presence = Presence::announce(&workspace.paths)?;
    let mut serving = None;
    let mut metrics_worker = None;
    if let Some(endpoint) = endpoint {
        let begun = MetricsWorker::begin(&workspace, wait)
            .map_err(|cause| fault("count the tasks of", cause))?;
        let board = Arc::clone(&begun.board);
        serving =
            Some(Report::Serving { address: endpoint.address(), exposed: endpoint.is_exposed() });
        endpoint
            .serve(Arc::new(move |format| board.page(format)))
            .map_err(|cause| fault("serve metrics of", cause))?;
        metrics_worker = Some(begun);
    }
    let sync_worker = SyncWorker::begin(&workspace, wait).map_err(|cause| fault("sync", cause))?;
    Watcher::new(workspace, wait, wakeup, tell)
        .showing(metrics_worker)
        .sending(SyncRequests::new(sync_worker))
        .watch(presence, serving);
    Ok(())
}

/// Looks once: takes what is there, waits for what is still being written, and returns whether everything could be done.
pub(crate) fn watch_once(
    workspace: Workspace,
    wait: Duration,
    tell: &mut dyn FnMut(Report),
) -> Result<bool, OpsError> {
    workspace.own_folder_is_ours()?;
    let wakeup = bell_of(&workspace)?;
    Ok(Watcher::new(workspace, wait, wakeup, tell).once())
}

/// Returns the bell that wakes the watcher; whoever wants the process to stop rings it.
fn bell_of(workspace: &Workspace) -> Result<Arc<Wakeup>, StoreError> {
    let wakeup = Arc::new(Wakeup::default());
    let rung = Arc::clone(&wakeup);
    signals::on_stop(move || rung.stop()).map_err(|cause| StoreError::Io {
        doing: "listen for signals in",
        path: workspace.paths.root().into(),
        cause,
    })?;
    Ok(wakeup)
}
