//! Metrics of a running watcher, counted on a separate thread. A scrape gets the last count; ages are computed for it.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing::debug;

use super::background::{NextRun, Worker};
use super::report::{Reporter, WatchReport};
use crate::domain::Timestamp;
use crate::domain::histogram::Histogram;
use crate::observability::metrics::exposition::{
    ExpositionFormat, Family, Labels, Samples, render,
};
use crate::observability::metrics::families::{Numbers, current_numbers};
use crate::project::workspace::{Clock, Workspace, WorkspaceOpener};
use crate::system::serving::work_in_background;

/// The interval at which metrics are counted without a known change.
const INTERVAL: Duration = Duration::from_secs(30);
/// The least time between two counts.
const LEAST_INTERVAL: Duration = Duration::from_millis(500);
/// The rest after a count, as a multiple of its duration.
const REST_SHARE: u32 = 9;
/// The time that a scrape waits for the first count. Prometheus waits at most ten seconds.
const FIRST_TIMEOUT: Duration = Duration::from_secs(8);

/// Returns the page in a format; `None` before the first count.
type MetricsText = dyn Fn(ExpositionFormat) -> Option<String> + Send + Sync;

/// The current metrics, shared with the server.
struct CountedMetrics {
    clock: Clock,
    shown: Mutex<ShownMetrics>,
    changed: Condvar,
}

struct ShownMetrics {
    numbers: Option<Numbers>,
    /// The durations of this watcher's commits.
    commits: Histogram,
    /// The time when the watcher last checked everything without an error.
    looked: Option<Timestamp>,
}

/// Metrics that are kept up to date.
pub(crate) struct Metrics {
    board: Arc<CountedMetrics>,
    /// Its outcome is the error of a failed count.
    worker: Worker<Option<String>>,
    trouble: Option<String>,
}

impl Metrics {
    /// Starts the thread that counts.
    pub(crate) fn start(workspace: &Workspace, wait: Duration) -> io::Result<Self> {
        let commits = Histogram::new(Histogram::WRITES);
        let shown = Mutex::new(ShownMetrics { numbers: None, commits, looked: None });
        let board =
            Arc::new(CountedMetrics { clock: workspace.clock(), shown, changed: Condvar::new() });
        let (counted, project) = (Arc::clone(&board), workspace.opener(wait));
        let mut is_first = true;
        let worker = Worker::start("metrics", move |_| {
            if std::mem::take(&mut is_first) {
                work_in_background();
            }
            let start = Instant::now();
            let trouble = counted.count(&project);
            let (took, why) = (start.elapsed(), trouble.as_deref());
            debug!(seconds = took.as_secs_f64(), trouble = why, "counted for metrics");
            let earliest = LEAST_INTERVAL.max(took * REST_SHARE);
            (trouble, NextRun { earliest, latest: Some(earliest + INTERVAL) })
        })?;
        worker.ask();
        Ok(Self { board, worker, trouble: None })
    }

    /// Returns the function that makes the page for Prometheus.
    pub(crate) fn page(&self) -> Arc<MetricsText> {
        let board = Arc::clone(&self.board);
        Arc::new(move |format| board.page(format))
    }

    /// Requests a new count if metrics may have changed. `looked`: the watcher has checked everything.
    pub(crate) fn note(
        &mut self,
        workspace: &Workspace,
        looked: bool,
        changed: bool,
        reporter: &mut Reporter<'_>,
    ) {
        if looked {
            let mut shown = self.board.lock();
            shown.looked = Some((self.board.clock)());
            shown.commits = workspace.commit_times();
        }
        if changed {
            self.worker.ask();
        }
        for trouble in self.worker.outcomes() {
            if let Some(problem) = trouble.clone().filter(|_| trouble != self.trouble) {
                reporter.tell(WatchReport::Uncounted { problem });
            }
            self.trouble = trouble;
        }
    }
}

impl CountedMetrics {
    /// Returns the page. Waits for the first count; returns `None` if that takes too long.
    fn page(&self, format: ExpositionFormat) -> Option<String> {
        let shown = self
            .changed
            .wait_timeout_while(self.lock(), FIRST_TIMEOUT, |shown| shown.numbers.is_none());
        let (shown, _) = shown.unwrap_or_else(PoisonError::into_inner);
        let numbers = shown.numbers.as_ref()?;
        let (of_watcher, ages) =
            (watcher_families(&shown, &numbers.project), numbers.ages((self.clock)()));
        Some(render(numbers.families.iter().chain([&ages]).chain(&of_watcher), format))
    }

    /// Counts; returns the error, if there was one.
    fn count(&self, project: &WorkspaceOpener) -> Option<String> {
        let counted = project.open().and_then(|workspace| current_numbers(&workspace));
        match counted {
            Ok(counted) => {
                let error = counted.events_error.as_ref().map(ToString::to_string);
                self.lock().numbers = Some(counted);
                self.changed.notify_all();
                error
            }
            Err(error) => Some(error.to_string()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, ShownMetrics> {
        // These plain values are valid even if a thread panicked with the lock.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the metrics that only this watcher knows.
fn watcher_families(shown: &ShownMetrics, project: &str) -> [Family; 2] {
    let labels: Labels = vec![("project", project.to_owned())];
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^52")]
    let looked = shown.looked.map(|looked| (labels.clone(), looked.as_second() as f64));
    [
        Family {
            name: "aof_commit_duration_seconds",
            help: "How long this watcher's commits took, of one change or of several at once, from the lock to the disk.",
            samples: Samples::Histogram(vec![(labels, shown.commits.clone())]),
        },
        Family {
            name: "aof_watcher_last_scan_timestamp_seconds",
            help: "When this watcher last checked everything without an error.",
            samples: Samples::Gauge(looked.into_iter().collect()),
        },
    ]
}
