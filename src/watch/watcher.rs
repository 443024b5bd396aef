//! The loop of the watcher: checks git, the inbox and the tasks, runs the work that is due, and sleeps until something may have
//! changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::background::{Notices, StreamKeeper, SyncRequests, hand_out_now};
use super::checks::{Checks, check_limits};
use super::checks::{POLL, Pause, Schedule};
use super::delivery::Deliveries;
use super::file_events::{FileEvents, Hints, Wakeup, WatchedPaths, WatchedPlace};
use super::metrics::Metrics;
use super::report::{DeliveryOutcome, EventSource, Reporter, WatchReport};
use crate::git::{GitError, Head};
use crate::history::unreported::Remaining;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::inbox::QUIET;
use crate::storage::lock::{Presence, Service};
use crate::storage::{Paths, StoreError};
use crate::system::terminal;
use crate::tasks::inbox::unclosed;

/// The time after which a file that is still being written is checked again.
const GROWING: Duration = Duration::from_millis(250);

/// The number of attempts after which another watcher is assumed to have the lock.
const STAND_BY_AFTER: u32 = 10;
const LOCK_PAUSE: Duration = Duration::from_millis(5);
/// The interval at which a standby watcher tries to take over.
const STAND_BY_PAUSE: Duration = Duration::from_millis(250);

/// Watches until it is asked to stop, and keeps metrics up to date. `serving` is reported at the start.
pub(crate) fn watch(
    workspace: Workspace,
    wait: Duration,
    metrics: Option<Metrics>,
    serving: Option<WatchReport>,
    tell: &mut dyn FnMut(WatchReport),
) -> Result<(), ProjectError> {
    let root = workspace.paths.root().to_owned();
    let fault = |doing, cause| StoreError::Io { doing, path: root.clone(), cause };
    let mut watcher = Watcher::new(workspace, wait, tell)?;
    // Fails early if no watcher can work at all.
    let Some(presence) = watcher.stand_by()? else { return Ok(()) };
    watcher.metrics = metrics;
    let sync = SyncRequests::start(&watcher.workspace, wait);
    watcher.sync = Some(sync.map_err(|cause| fault("sync", cause))?);
    watcher.run(presence, serving);
    Ok(())
}

/// Does all work that is due now, and waits for files that are still being written. Returns whether everything was done.
pub(crate) fn watch_once(
    workspace: Workspace,
    wait: Duration,
    tell: &mut dyn FnMut(WatchReport),
) -> Result<bool, ProjectError> {
    Ok(Watcher::new(workspace, wait, tell)?.run_once())
}

struct Watcher<'t> {
    workspace: Workspace,
    wait: Duration,
    places: WatchedPaths,
    reporter: Reporter<'t>,
    checks: Checks,
    deliveries: Deliveries,
    schedule: Schedule,
    pause: Pause,
    notices: Notices,
    events: StreamKeeper,
    metrics: Option<Metrics>,
    /// `None` with `--once`, which syncs without a worker.
    sync: Option<SyncRequests>,
}

impl<'t> Watcher<'t> {
    fn new(
        workspace: Workspace,
        wait: Duration,
        tell: &'t mut dyn FnMut(WatchReport),
    ) -> Result<Self, ProjectError> {
        workspace.check_own_folder()?;
        let wakeup = Arc::new(Wakeup::default());
        let to_stop = Arc::clone(&wakeup);
        terminal::on_stop(move || to_stop.stop()).map_err(|cause| StoreError::Io {
            doing: "listen for signals in",
            path: workspace.paths.root().into(),
            cause,
        })?;
        let places = WatchedPaths::of(&workspace);
        Ok(Self {
            workspace,
            wait,
            places,
            reporter: Reporter::new(wakeup, tell),
            checks: Checks::default(),
            deliveries: Deliveries::new(),
            schedule: Schedule::new(Instant::now()),
            pause: Pause::default(),
            notices: Notices::default(),
            events: StreamKeeper::default(),
            metrics: None,
            sync: None,
        })
    }

    /// Waits until no other watcher of this clone runs. Returns `None` if it is asked to stop before.
    fn stand_by(&mut self) -> Result<Option<Presence>, ProjectError> {
        for turn in 0.. {
            if let Some(presence) = Presence::attempt(&self.workspace.paths, Service::Watcher)? {
                return Ok(Some(presence));
            }
            // A command that only checks whether a watcher runs holds the lock for microseconds.
            if turn == STAND_BY_AFTER {
                self.reporter.tell(WatchReport::StandingBy);
            }
            let pause = if turn < STAND_BY_AFTER { LOCK_PAUSE } else { STAND_BY_PAUSE };
            if self.reporter.wakeup.pause(pause) {
                break;
            }
        }
        Ok(None)
    }

    /// Checks and sleeps until it is asked to stop. `serving` is reported at the start.
    fn run(mut self, mut presence: Presence, serving: Option<WatchReport>) {
        let (mut file_events, fault) = FileEvents::open(self.places.clone(), &self.reporter.wakeup);
        let sight = fault.map_or(EventSource::Events, |reason| EventSource::Polling { reason });
        let branch = self.workspace.head_now().ok().map(|head| head.branch().to_owned());
        let project = self.workspace.paths.root().to_owned();
        self.reporter.tell(WatchReport::Watching { project, branch, sight });
        if let Some(serving) = serving {
            self.reporter.tell(serving);
        }
        let mut until = Instant::now();
        loop {
            let hints = self.reporter.wakeup.wait(until);
            if hints.stop {
                break;
            }
            prepare_local(&self.workspace.paths, &mut presence);
            if let Err(reason) = file_events.refresh() {
                self.reporter.tell(WatchReport::EventSource(EventSource::Polling { reason }));
            }
            let hinted = hints != Hints::default();
            self.apply_hints(hints, &file_events);
            until = self.check();
            let is_paused = self.pause.is_paused();
            if let Some(metrics) = &mut self.metrics {
                // Without file events, anything may have changed.
                let changed = hinted || self.reporter.busy || !file_events.has_events();
                metrics.note(&self.workspace, !is_paused, changed, &mut self.reporter);
            }
            if let Some(sync) = &mut self.sync {
                sync.run(&self.workspace, &mut self.reporter);
            }
            if !is_paused {
                self.events.keep(&self.workspace, self.wait, &mut self.reporter);
                until = match self.notices.send(&self.workspace, &mut self.reporter) {
                    Remaining::Nothing => until.min(self.schedule.limits_at()),
                    Remaining::Commits => Instant::now(),
                };
            }
        }
        self.events.stop();
        self.notices.stop(&mut self.reporter);
        if let Some(sync) = &self.sync {
            sync.stop();
        }
        self.reporter.tell(WatchReport::Stopped);
    }

    /// Checks until no file is still being written, at most until it is clear which ones are.
    fn run_once(mut self) -> bool {
        self.deliveries.is_once = true;
        let mut end = self.end_of_once();
        let mut late = false;
        loop {
            let until = self.check();
            let sooner = self.schedule.is_before_full_check(until);
            if self.pause.is_paused() || !(sooner || self.reporter.busy) {
                break;
            }
            // All waiting files are tried, even if that takes long.
            if self.deliveries.is_due() {
                continue;
            }
            // After long work, one more check shows whether anything is left.
            if until > end && self.reporter.busy && !late {
                late = true;
                end = self.end_of_once();
                continue;
            }
            let time = until.saturating_duration_since(Instant::now());
            if until > end || self.reporter.wakeup.pause(time) {
                self.reporter.failed = true;
                self.report_unclosed();
                break;
            }
        }
        if !self.pause.is_paused() {
            self.notices.send_now(&self.workspace, &mut self.reporter);
            self.events.keep_now(&self.workspace, &mut self.reporter);
        }
        !self.reporter.failed && !self.pause.is_paused()
    }

    /// Reports files that wait because they may still be incomplete.
    fn report_unclosed(&mut self) {
        match unclosed(&self.workspace) {
            Ok(left) => {
                for (name, error) in left {
                    self.reporter
                        .tell(WatchReport::Delivered(DeliveryOutcome::Waiting { name, error }));
                }
            }
            Err(error) => self.reporter.tell(WatchReport::Failed(error)),
        }
    }

    /// Returns the time when `--once` ends. It does not wait for later checks.
    fn end_of_once(&mut self) -> Instant {
        let now = Instant::now();
        let end = now + QUIET * 2;
        self.schedule.end_with(end, now);
        end
    }

    /// Brings forward the checks for which hints show a possible change.
    fn apply_hints(&mut self, hints: Hints, file_events: &FileEvents) {
        let now = Instant::now();
        self.reporter.note(hints.inbox);
        self.schedule.note(&hints.places, now);
        let is_hinted = |place| hints.places.contains(&place);
        if is_hinted(WatchedPlace::Rules) {
            self.checks.forget_rules();
        }
        if is_hinted(WatchedPlace::Repository) || is_hinted(WatchedPlace::Anywhere) {
            self.pause.end_backoff(now);
        }
        if self.schedule.begins_full_check(file_events.has_events(), now) {
            self.checks.forget_hand_out();
            self.deliveries.try_all();
        }
    }

    /// Does the work that is due, unless the watcher is paused. Returns the time when the next check is due.
    fn check(&mut self) -> Instant {
        if let Some(until) = self.pause.backoff_end(Instant::now()) {
            return until;
        }
        self.reporter.busy = false;
        let checked = match self.workspace.head_now() {
            Ok(head) => self.run_due_checks(&head),
            Err(GitError::Waiting { reason, .. }) => {
                if self.pause.pause(&reason) {
                    self.reporter.tell(WatchReport::Paused { reason });
                }
                return Instant::now() + POLL;
            }
            Err(error) => Err(error.into()),
        };
        let growing = match checked {
            Ok(growing) => growing,
            Err(error) => return self.back_off(error),
        };
        if self.pause.end() {
            self.reporter.tell(WatchReport::Resumed);
        }
        let (now, next) = (Instant::now(), self.schedule.next());
        // Files that arrived during the work may have been missed.
        if self.reporter.busy || self.deliveries.is_due() {
            next.min(now)
        } else if growing {
            next.min(now + GROWING)
        } else {
            next
        }
    }

    /// Reports an error once, and returns the time of the retry.
    fn back_off(&mut self, error: ProjectError) -> Instant {
        self.deliveries.forget();
        let text = error.to_string();
        // The folder or its repository may have been replaced.
        if let Ok(again) = self.workspace.reopened(self.wait) {
            self.workspace = again;
        }
        let (until, is_new) = self.pause.back_off(text, Instant::now());
        if is_new {
            self.reporter.tell(WatchReport::Failed(error));
        }
        until
    }

    /// Runs the checks that are due; returns whether files are still being written.
    fn run_due_checks(&mut self, head: &Head) -> Result<bool, ProjectError> {
        let Self { workspace, wait, reporter, checks, deliveries, schedule, .. } = self;
        let wait = *wait;
        if self.pause.end_pause() {
            reporter.tell(WatchReport::Resumed);
        }
        workspace.check_own_folder()?;
        checks.check_rules(workspace, head, reporter)?;
        if schedule.index.is_due(Instant::now()) {
            // Dropped steps come first: a new commit would block their restoration.
            checks.check_branch(workspace, wait, reporter);
        }
        let tending = schedule.tasks.is_due(Instant::now());
        let growing = deliveries.run(workspace, wait, reporter, tending)?;
        if tending {
            checks.check_tasks(workspace, wait, schedule, reporter)?;
        }
        if schedule.index.is_due(Instant::now()) {
            checks.check_index(workspace, wait, schedule, reporter);
        }
        if schedule.limits.is_due(Instant::now()) {
            check_limits(workspace, wait, &mut checks.periods, schedule, reporter)?;
            checks.check_outlived_programs(workspace, reporter)?;
        }
        let start = Instant::now();
        schedule.hand_out.hint(start);
        if schedule.hand_out.is_due(start) {
            let to_share = checks.hand_out(workspace, wait, reporter)?;
            match &mut self.sync {
                _ if !to_share => {}
                Some(sync) => sync.hand_out(workspace),
                None => hand_out_now(workspace, wait, reporter),
            }
            schedule.handed_out(start, Instant::now());
        }
        Ok(growing)
    }
}

/// Creates the watcher's files in `.aof/` again if they were removed.
fn prepare_local(paths: &Paths, presence: &mut Presence) {
    // If this fails, the delivery reports the same error.
    let _ = paths.prepare_local();
    if !presence.is_visible()
        && let Ok(Some(again)) = Presence::attempt(paths, Service::Watcher)
    {
        *presence = again;
    }
}
