//! The event stream, brought up to date beside everything else: a long history that has no stream yet holds up nothing.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::desk::Desk;
use super::report::{ReportedErrors, WatchReport};
use super::worker::{NextRun, Worker};
use crate::history::unreported::Remaining;
use crate::observability::events::catch_up::{are_events_kept, catch_up_events, keep_events};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;

/// How long a walk under way is waited for at the end.
const LAST: Duration = Duration::from_secs(10);

/// The event stream of a watcher.
#[derive(Default)]
pub(crate) struct StreamKeeper {
    told: ReportedErrors,
    worker: Option<Worker<Result<Remaining, ProjectError>>>,
}

impl StreamKeeper {
    /// Has the stream written where it lacks something. An error is reported once while it lasts.
    pub(crate) fn keep(&mut self, workspace: &Workspace, wait: Duration, desk: &mut Desk<'_>) {
        let outcomes = self.worker.iter().flat_map(Worker::outcomes).collect::<Vec<_>>();
        for outcome in outcomes {
            self.note(outcome, desk);
        }
        match are_events_kept(workspace) {
            Ok(true) => {}
            Err(error) => self.note(Err(error), desk),
            Ok(false) => match self.started(workspace, wait) {
                Ok(worker) => worker.ask(),
                Err(cause) => self.tell(format!("no thread can be started: {cause}"), desk),
            },
        }
    }

    /// Returns the worker, which is started when there is something to do for the first time.
    fn started(
        &mut self,
        workspace: &Workspace,
        wait: Duration,
    ) -> io::Result<&Worker<Result<Remaining, ProjectError>>> {
        if let Some(worker) = self.worker.take() {
            return Ok(self.worker.insert(worker));
        }
        let project = workspace.seed(wait);
        let worker = Worker::start("events", move |stop| {
            let goes_on = || !stop.load(Ordering::Relaxed);
            let kept = project.open().and_then(|own| keep_events(&own, &goes_on));
            (kept, NextRun::default())
        })?;
        Ok(self.worker.insert(worker))
    }

    /// Writes it all before it returns.
    pub(crate) fn keep_now(&mut self, workspace: &Workspace, desk: &mut Desk<'_>) {
        self.note(catch_up_events(workspace), desk);
    }

    /// Ends the walk under way. The next watcher or command writes what is left.
    pub(crate) fn stop(&self) {
        if let Some(worker) = &self.worker {
            worker.stop(LAST);
        }
    }

    fn note(&mut self, outcome: Result<Remaining, ProjectError>, desk: &mut Desk<'_>) {
        match outcome {
            Ok(_) => self.told.forget_the_rest(),
            Err(error) => self.tell(error.to_string(), desk),
        }
    }

    fn tell(&mut self, problem: String, desk: &mut Desk<'_>) {
        if self.told.is_news(problem.clone()) {
            desk.tell(WatchReport::Unrecorded { problem });
        }
    }
}
