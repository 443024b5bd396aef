//! What a watcher shows to whoever scrapes it: the project's numbers, counted in a thread of their own, so that neither counting nor
//! asking holds up a completion. Whoever asks gets what was counted last; how old things are is worked out then.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tracing::debug;

use crate::domain::Timestamp;
use crate::domain::values::histogram::Histogram;
use crate::observability::exposition::{Family, Format, Labels, Samples, render};
use crate::observability::metrics::numbers::{Numbers, numbers};
use crate::project::aside::Clock;
use crate::project::error::error::OpsError;
use crate::project::workspace::{Seed, Workspace};

/// How often is counted when nothing seems to happen.
const EVERY: Duration = Duration::from_secs(30);
/// Between two counts, at least.
const APART: Duration = Duration::from_millis(500);
/// Counting takes at most one part of the time in so many.
const SHARE: u32 = 9;
/// How long whoever comes before the first count waits for it: Prometheus asks for no longer than ten seconds.
const FIRST: Duration = Duration::from_secs(8);

/// The numbers of a running watcher.
pub(crate) struct Board {
    clock: Clock,
    shown: Mutex<Shown>,
    changed: Condvar,
}

struct Shown {
    numbers: Option<Arc<Numbers>>,
    /// How long this watcher's commits took.
    commits: Histogram,
    /// When it last looked at everything and nothing stood in its way.
    looked: Option<Timestamp>,
    /// Whether something may have changed since the last count.
    stale: bool,
}

/// A board that is being kept up to date.
pub(crate) struct MetricsWorker {
    pub board: Arc<Board>,
    /// What came of each count: why it failed, if it did.
    outcomes: mpsc::Receiver<Option<String>>,
    /// Why the last one failed.
    trouble: Option<String>,
}

impl MetricsWorker {
    /// Begins to count, until the process ends.
    pub(crate) fn begin(workspace: &Workspace, wait: Duration) -> std::io::Result<Self> {
        let clock = workspace.clock();
        let commits = Histogram::new(Histogram::WRITES);
        let shown = Shown { numbers: None, commits, looked: None, stale: true };
        let board = Arc::new(Board { clock, shown: Mutex::new(shown), changed: Condvar::new() });
        let project = workspace.seed(wait);
        let (sender, outcomes) = mpsc::channel();
        let own = Arc::clone(&board);
        thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || own.count(&project, &sender))?;
        Ok(Self { board, outcomes, trouble: None })
    }

    /// Returns why counting fails, once while it lasts.
    pub(crate) fn news(&mut self) -> Option<String> {
        let last = self.outcomes.try_iter().last()?;
        let is_news = last != self.trouble;
        self.trouble = last;
        self.trouble.clone().filter(|_| is_news)
    }
}

impl Board {
    /// Returns the page. Before the first count it waits for that, and there is none if that takes too long.
    pub(crate) fn page(&self, format: Format) -> Option<String> {
        let shown =
            self.changed.wait_timeout_while(self.lock(), FIRST, |shown| shown.numbers.is_none());
        let (shown, _) = shown.unwrap_or_else(PoisonError::into_inner);
        let numbers = Arc::clone(shown.numbers.as_ref()?);
        let own = of_watcher(&shown, &numbers.project);
        drop(shown);
        let ages = numbers.ages((self.clock)());
        Some(render(numbers.families.iter().chain([&ages]).chain(&own), format))
    }

    /// Has the project counted again soon.
    pub(crate) fn look_again(&self) {
        self.lock().stale = true;
        self.changed.notify_all();
    }

    /// Notes that everything was looked at, and how long commits took.
    pub(crate) fn note_look(&self, workspace: &Workspace) {
        let mut shown = self.lock();
        shown.looked = Some((self.clock)());
        shown.commits = workspace.commit_times();
    }

    /// Counts whenever something may have changed. What fails is tried again.
    fn count(&self, project: &Seed, outcomes: &mpsc::Sender<Option<String>>) {
        loop {
            let start = Instant::now();
            let trouble = match count(project) {
                Ok(counted) => {
                    let untold = counted.untold.as_ref().map(ToString::to_string);
                    self.lock().numbers = Some(Arc::new(counted));
                    self.changed.notify_all();
                    untold
                }
                Err(error) => Some(error.to_string()),
            };
            debug!(
                seconds = start.elapsed().as_secs_f64(),
                trouble = trouble.as_deref(),
                "counted for metrics"
            );
            // Nobody listens any more when the watcher ends.
            if outcomes.send(trouble).is_err() {
                return;
            }
            thread::sleep(APART.max(start.elapsed() * SHARE));
            let shown = self.changed.wait_timeout_while(self.lock(), EVERY, |shown| !shown.stale);
            shown.unwrap_or_else(PoisonError::into_inner).0.stale = false;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shown> {
        // Plain values: whoever died with the lock left them whole.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count(project: &Seed) -> Result<Numbers, OpsError> {
    let workspace = project.open()?;
    numbers(&workspace, &workspace.rules()?)
}

/// Returns what only a watcher knows, and forgets when it ends.
fn of_watcher(shown: &Shown, project: &str) -> [Family; 2] {
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
            help: "When this watcher last looked at everything and nothing stood in its way.",
            samples: Samples::Gauge(looked.into_iter().collect()),
        },
    ]
}
