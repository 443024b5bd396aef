//! Work of the watcher on separate threads: the event stream, notices, syncs. So neither networks nor long walks delay a completion.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tracing::debug;

use super::checks::report_handed_out;
use super::report::{ReportedErrors, Reporter, WatchReport};
use crate::dispatch::synced_assignment::{SyncedHandOut, sync_and_hand_out};
use crate::domain::ChannelKey;
use crate::git::{CommitId, Prompts};
use crate::history::sync::outcome::{SyncEnd, SyncResult};
use crate::history::sync::remote_state::sync_target;
use crate::history::unreported::Remaining;
use crate::observability::events::catch_up::{are_events_kept, catch_up_events, keep_events};
use crate::observability::notices::compose::write_notices;
use crate::observability::notices::delivery::{
    MessageScope, Receiver, Round, deliver_channel, deliver_notices, receivers,
};
use crate::project::error::ProjectError;
use crate::project::workspace::{Workspace, WorkspaceOpener};
use crate::storage::StoreError;

/// A worker thread. It ends when this is dropped, after the current job.
pub(crate) struct Worker<T> {
    asks: Sender<()>,
    outcomes: mpsc::Receiver<T>,
    thread: JoinHandle<()>,
    /// Ends long jobs early.
    stop: Arc<AtomicBool>,
}

/// The time when a job runs again.
#[derive(Default)]
pub(crate) struct NextRun {
    /// The earliest time, even if the job is requested before.
    pub earliest: Duration,
    /// The latest time, even without a request.
    pub latest: Option<Duration>,
}

impl<T: Send + 'static> Worker<T> {
    /// Starts a worker that waits for requests. The job gets a flag that asks it to end early.
    pub(crate) fn start(
        name: &str,
        mut job: impl FnMut(&AtomicBool) -> (T, NextRun) + Send + 'static,
    ) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (asks, requests) = mpsc::channel();
        let (sender, outcomes) = mpsc::channel();
        let must_stop = Arc::clone(&stop);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let mut latest = None;
            while wait(&requests, latest) {
                // This run fulfils all requests until now.
                while requests.try_recv().is_ok() {}
                if must_stop.load(Ordering::Relaxed) {
                    return;
                }
                let (outcome, next) = job(&must_stop);
                if sender.send(outcome).is_err() {
                    return;
                }
                let mut rest = next.earliest;
                let end = Instant::now() + rest;
                let mut is_asked = false;
                while !rest.is_zero() && !must_stop.load(Ordering::Relaxed) {
                    is_asked |= matches!(requests.recv_timeout(rest), Ok(()));
                    rest = end.saturating_duration_since(Instant::now());
                }
                let idle = next.latest.map(|latest| latest.saturating_sub(next.earliest));
                latest = if is_asked { Some(Duration::ZERO) } else { idle };
            }
        })?;
        Ok(Self { asks, outcomes, thread, stop })
    }

    /// Requests the job. A running job is repeated after its end.
    pub(crate) fn ask(&self) {
        // A worker that has ended ignores requests.
        let _ = self.asks.send(());
    }

    /// Returns the outcomes since the last call.
    pub(crate) fn outcomes(&self) -> Vec<T> {
        self.outcomes.try_iter().collect()
    }
}

impl<T> Worker<T> {
    /// Stops the worker, and waits at most this long for the running job.
    pub(crate) fn stop(&self, timeout: Duration) {
        const STEP: Duration = Duration::from_millis(2);
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.asks.send(());
        let end = Instant::now() + timeout;
        while !self.thread.is_finished() && Instant::now() < end {
            thread::sleep(STEP);
        }
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

/// Waits for a request, or until the job is due; returns `false` if the worker must end.
fn wait(requests: &mpsc::Receiver<()>, latest: Option<Duration>) -> bool {
    match latest {
        None => requests.recv().is_ok(),
        Some(latest) => requests.recv_timeout(latest) != Err(RecvTimeoutError::Disconnected),
    }
}

/// The time that the stop of the watcher waits for a walk.
const LAST_WALK: Duration = Duration::from_secs(10);

/// Keeps the event stream up to date. A long history without a stream delays nothing.
#[derive(Default)]
pub(crate) struct StreamKeeper {
    errors: ReportedErrors,
    /// Started with the first event to write.
    worker: Option<Worker<Result<Remaining, ProjectError>>>,
}

impl StreamKeeper {
    /// Requests that missing events are written.
    pub(crate) fn keep(
        &mut self,
        workspace: &Workspace,
        wait: Duration,
        reporter: &mut Reporter<'_>,
    ) {
        for outcome in self.worker.iter().flat_map(Worker::outcomes).collect::<Vec<_>>() {
            self.note(outcome, reporter);
        }
        match are_events_kept(workspace) {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => return self.note(Err(error), reporter),
        }
        if self.worker.is_none() {
            let project = workspace.opener(wait);
            let started = Worker::start("events", move |stop| {
                let goes_on = || !stop.load(Ordering::Relaxed);
                let kept = project.open().and_then(|workspace| keep_events(&workspace, &goes_on));
                (kept, NextRun::default())
            });
            match started {
                Ok(worker) => self.worker = Some(worker),
                Err(cause) => {
                    return self.tell(format!("no thread can be started: {cause}"), reporter);
                }
            }
        }
        if let Some(worker) = &self.worker {
            worker.ask();
        }
    }

    /// Writes all missing events before it returns.
    pub(crate) fn keep_now(&mut self, workspace: &Workspace, reporter: &mut Reporter<'_>) {
        self.note(catch_up_events(workspace), reporter);
    }

    /// Stops the running walk. The next watcher or command writes the rest.
    pub(crate) fn stop(&self) {
        if let Some(worker) = &self.worker {
            worker.stop(LAST_WALK);
        }
    }

    fn note(&mut self, outcome: Result<Remaining, ProjectError>, reporter: &mut Reporter<'_>) {
        match outcome {
            Ok(_) => self.errors.end_check(),
            Err(error) => self.tell(error.to_string(), reporter),
        }
    }

    fn tell(&mut self, problem: String, reporter: &mut Reporter<'_>) {
        if self.errors.is_new(problem.clone()) {
            reporter.tell(WatchReport::Unrecorded { problem });
        }
    }
}

/// The longest time that one delivery of a channel may take.
const DELIVERY_TIMEOUT: Duration = Duration::from_mins(10);
/// The time for which `aof watch --once` delivers.
const ONCE_TIMEOUT: Duration = Duration::from_mins(1);
/// The time that the stop of the watcher waits for deliveries.
const LAST_DELIVERY: Duration = Duration::from_secs(1);

/// Writes notices for new commits, and delivers them, each channel on a thread of its own: a receiver that does not answer delays no
/// other one.
#[derive(Default)]
pub(crate) struct Notices {
    /// The receiver is shared with the thread, which reads it before each message.
    channels: HashMap<ChannelKey, (Receiver, Worker<Result<Round, StoreError>>)>,
    errors: ReportedErrors,
}

impl Notices {
    /// Writes notices, or a part of them, and requests their delivery. Returns whether more notices remain to be written.
    pub(crate) fn send(&mut self, workspace: &Workspace, reporter: &mut Reporter<'_>) -> Remaining {
        self.take_outcomes(reporter);
        let mut left = Remaining::Nothing;
        match write_notices(workspace) {
            Ok(written) => {
                left = written.left;
                written.restarted.into_iter().for_each(|problem| self.tell(problem, reporter));
            }
            Err(error) => self.tell(error.to_string(), reporter),
        }
        match receivers(workspace) {
            Ok(receivers) => receivers.into_iter().for_each(|one| self.deliver(one, reporter)),
            Err(error) => self.tell(error.to_string(), reporter),
        }
        left
    }

    /// Delivers all due notices before it returns.
    pub(crate) fn send_now(&mut self, workspace: &Workspace, reporter: &mut Reporter<'_>) {
        match deliver_notices(workspace, MessageScope::Due, ONCE_TIMEOUT) {
            Ok(rounds) => rounds.into_iter().for_each(|round| self.note(round, reporter)),
            Err(error) => self.tell(error.to_string(), reporter),
        }
    }

    /// Stops running deliveries. The next watcher delivers the rest.
    pub(crate) fn stop(&mut self, reporter: &mut Reporter<'_>) {
        let end = Instant::now() + LAST_DELIVERY;
        for (_, worker) in self.channels.values() {
            worker.stop(Duration::ZERO);
        }
        for (_, worker) in self.channels.values() {
            worker.stop(end.saturating_duration_since(Instant::now()));
        }
        self.take_outcomes(reporter);
    }

    /// Requests a channel's delivery; a running delivery follows the current rules.
    fn deliver(&mut self, receiver: Receiver, reporter: &mut Reporter<'_>) {
        if let Some((current, worker)) = self.channels.get(&receiver.key) {
            current.update_channel(&receiver);
            return worker.ask();
        }
        let receiver_of_worker = receiver.clone();
        let started = Worker::start("notices", move |stop| {
            let end = Instant::now() + DELIVERY_TIMEOUT;
            (deliver_channel(&receiver_of_worker, MessageScope::Due, end, stop), NextRun::default())
        });
        match started {
            Ok(worker) => {
                worker.ask();
                self.channels.insert(receiver.key.clone(), (receiver, worker));
            }
            Err(cause) => self.tell(format!("no thread can be started: {cause}"), reporter),
        }
    }

    fn take_outcomes(&mut self, reporter: &mut Reporter<'_>) {
        let outcomes = self.channels.values().flat_map(|(_, worker)| worker.outcomes());
        for outcome in outcomes.collect::<Vec<_>>() {
            match outcome {
                Ok(round) => self.note(round, reporter),
                Err(error) => self.tell(error.to_string(), reporter),
            }
        }
    }

    fn note(&mut self, round: Round, reporter: &mut Reporter<'_>) {
        if round.delivered > 0 {
            self.errors.end_check();
        }
        round.trouble.into_iter().for_each(|trouble| self.tell(trouble, reporter));
    }

    fn tell(&mut self, problem: String, reporter: &mut Reporter<'_>) {
        if self.errors.is_new(problem.clone()) {
            reporter.tell(WatchReport::Undelivered { problem });
        }
    }
}

/// The least time between two syncs, so that several commits are pushed together.
const LEAST_INTERVAL: Duration = Duration::from_secs(1);
const LONGEST_BACKOFF: Duration = Duration::from_mins(15);
/// The time that the stop of the watcher waits for a sync.
const LAST_SYNC: Duration = Duration::from_secs(3);

/// The result of a sync; `None` if the project is not synced.
type SyncOutcome = Result<Option<SyncedHandOut>, ProjectError>;

/// The syncs of a watcher.
pub(crate) struct SyncRequests {
    worker: Worker<SyncOutcome>,
    errors: ReportedErrors,
    /// The sync period that the rules set.
    every: Option<Duration>,
    /// The commit that was last compared with the remote, and the remote's.
    compared: Option<(Option<CommitId>, Option<CommitId>)>,
    /// True if the last sync failed.
    has_failed: bool,
    /// The commit at which the worker was last asked to hand out.
    last_asked: Option<CommitId>,
    /// True if that request is still to be made.
    waits: bool,
}

impl SyncRequests {
    pub(crate) fn start(workspace: &Workspace, wait: Duration) -> io::Result<Self> {
        let project = workspace.opener(wait);
        let mut failed = 0_u32;
        let worker = Worker::start("sync", move |_| {
            let start = Instant::now();
            let mut every = None;
            let outcome = sync_project(&project, wait, &mut every);
            debug!(seconds = start.elapsed().as_secs_f64(), failed = outcome.is_err(), "synced");
            let is_done = outcome.as_ref().is_ok_and(|done| done.as_ref().is_none_or(is_complete));
            failed = if is_done { 0 } else { failed + 1 };
            (outcome, next_sync(every, failed))
        })?;
        let errors = ReportedErrors::default();
        Ok(Self {
            worker,
            errors,
            every: None,
            compared: None,
            has_failed: false,
            last_asked: None,
            waits: false,
        })
    }

    /// Requests that work is handed out, once for each commit: a failed hand-out is retried with each sync.
    pub(crate) fn hand_out(&mut self, workspace: &Workspace) {
        let head = workspace.head_now().ok().and_then(|head| head.commit);
        if head.is_some() && head != self.last_asked {
            (self.last_asked, self.waits) = (head, true);
            self.worker.ask();
        }
    }

    /// Requests the push of new commits to the remote, and reports the outcomes of syncs.
    pub(crate) fn run(&mut self, workspace: &Workspace, reporter: &mut Reporter<'_>) {
        let head = workspace.head_now().ok().and_then(|head| head.commit);
        let before = self.compared;
        // After a failed sync, the remote's commit may change too, by a push or a pull.
        if head.is_some() && (self.has_failed || Some(head) != before.map(|(head, _)| head)) {
            // Unreadable rules are reported by the watcher itself.
            if let Ok((every, theirs)) = sync_target(workspace) {
                self.compared = Some((head, theirs));
                let every = every.map(|every| Duration::from_secs(every.seconds()));
                let is_due = before != self.compared && (self.has_failed || head != theirs);
                if every.is_some() && (is_due || every != self.every) {
                    self.worker.ask();
                }
                self.every = every;
            }
        }
        for outcome in self.worker.outcomes() {
            let trouble = match outcome {
                Ok(None) => continue,
                Ok(Some(done)) => report_sync(done, workspace, reporter),
                Err(error) => Some(problem_and_fix(&error, workspace)),
            };
            self.has_failed = trouble.is_some();
            let Some((problem, fix)) = trouble else {
                (self.errors, self.waits) = (ReportedErrors::default(), false);
                continue;
            };
            if self.errors.is_new(problem.clone()) {
                let later = self.waits.then(|| "nothing is handed out until then".to_owned());
                let parts: Vec<String> = fix.into_iter().chain(later).collect();
                let fix = (!parts.is_empty()).then(|| parts.join("; "));
                reporter.tell(WatchReport::Unsynced { problem, fix });
            }
        }
    }

    /// Stops the worker, and waits a moment for a running sync.
    pub(crate) fn stop(&self) {
        self.worker.stop(LAST_SYNC);
    }
}

fn sync_project(
    project: &WorkspaceOpener,
    wait: Duration,
    every: &mut Option<Duration>,
) -> SyncOutcome {
    let mut workspace = project.open()?;
    let period = sync_target(&workspace)?.0;
    *every = period.map(|period| Duration::from_secs(period.seconds()));
    Ok(every.map(|_| sync_and_hand_out(&mut workspace, wait, Prompts::Never)))
}

/// Returns whether the remote has all commits, and has confirmed all assignments.
fn is_complete(done: &SyncedHandOut) -> bool {
    done.synced.last().is_some_and(|synced| synced.end == SyncEnd::Same)
        && done.handed_out.unconfirmed.is_none()
}

/// Returns the time of the next sync; with a backoff after failures.
fn next_sync(every: Option<Duration>, failed: u32) -> NextRun {
    match (every, failed) {
        (None, 0) => NextRun::default(),
        (Some(every), 0) => NextRun { earliest: LEAST_INTERVAL.min(every), latest: Some(every) },
        (every, failed) => {
            let every = every.unwrap_or(LEAST_INTERVAL);
            let backoff = every.saturating_mul(1 << failed.saturating_sub(1).min(8));
            let backoff = backoff.min(LONGEST_BACKOFF.max(every));
            // A new commit here or on the remote may end the failure: then the sync is tried earlier.
            NextRun { earliest: LEAST_INTERVAL.min(every), latest: Some(backoff) }
        }
    }
}

/// Syncs and hands out before it returns.
pub(crate) fn hand_out_now(workspace: &mut Workspace, wait: Duration, reporter: &mut Reporter<'_>) {
    let SyncedHandOut { synced, handed_out } = sync_and_hand_out(workspace, wait, Prompts::Never);
    report_synced(synced, reporter);
    if let Some(error) = &handed_out.unconfirmed {
        reporter.failed = true;
        let (problem, fix) = problem_and_fix(error, workspace);
        reporter.tell(WatchReport::Unsynced { problem, fix });
    }
    report_handed_out(handed_out, reporter);
}

/// Reports the results of a sync. Returns the problem that prevents more, and its fix.
fn report_sync(
    SyncedHandOut { synced, handed_out }: SyncedHandOut,
    workspace: &Workspace,
    reporter: &mut Reporter<'_>,
) -> Option<(String, Option<String>)> {
    let trouble = synced.last().and_then(SyncResult::trouble);
    report_synced(synced, reporter);
    let refused = handed_out.unconfirmed.as_ref().map(|error| problem_and_fix(error, workspace));
    report_handed_out(handed_out, reporter);
    trouble.map(|(problem, fix)| (problem, Some(fix))).or(refused)
}

fn report_synced(synced: Vec<SyncResult>, reporter: &mut Reporter<'_>) {
    for synced in synced.into_iter().filter(|synced| !synced.is_idle()) {
        reporter.tell(WatchReport::Synced(Box::new(synced)));
    }
}

fn problem_and_fix(error: &ProjectError, workspace: &Workspace) -> (String, Option<String>) {
    (error.problem(), error.fix().map(|fix| workspace.git_commands.with_folder(fix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first<T: Send + 'static>(worker: &Worker<T>) -> T {
        worker.outcomes.recv_timeout(Duration::from_secs(10)).unwrap()
    }

    #[test]
    fn a_job_is_done_when_it_is_asked_for_and_when_its_time_has_come() {
        let mut count = 0;
        let next = || NextRun { earliest: Duration::ZERO, latest: Some(Duration::from_millis(1)) };
        let worker = Worker::start("test", move |_| {
            count += 1;
            (count, next())
        });
        let worker = worker.unwrap();
        thread::sleep(Duration::from_millis(5));
        assert!(worker.outcomes().is_empty(), "nobody asked");
        worker.ask();
        assert_eq!((first(&worker), first(&worker)), (1, 2));
    }

    #[test]
    fn a_job_under_way_is_done_again_and_ends_early() {
        let (sender, go) = mpsc::channel();
        let (begin, begun) = mpsc::channel();
        let worker = Worker::start("test", move |stop| {
            let _ = (begin.send(()), go.recv());
            (stop.load(Ordering::Relaxed), NextRun::default())
        });
        let worker = worker.unwrap();
        worker.ask();
        begun.recv().unwrap();
        worker.ask();
        sender.send(()).unwrap();
        assert!(!first(&worker));
        begun.recv().unwrap();
        let before = Instant::now();
        worker.stop(Duration::from_millis(1));
        assert!(before.elapsed() < Duration::from_secs(5));
        sender.send(()).unwrap();
        assert!(first(&worker));
    }
}
