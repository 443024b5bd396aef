//! Reports of the watcher, each error once while it lasts; and the events of inbox files.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::file_events::{FileSign, Wakeup};
use crate::dispatch::hand_out::{DependencyChange, WorkAssignment};
use crate::domain::TaskId;
use crate::files::diagnostic::Diagnostic;
use crate::git::CommitId;
use crate::history::git_race_repair::RestoredSteps;
use crate::history::sync::outcome::SyncResult;
use crate::project::error::ProjectError;
use crate::storage::inbox::Witnessed;
use crate::tasks::plan::Changed;

/// An action or a finding of the watcher.
pub(crate) enum WatchReport {
    /// The watcher starts. `branch` is `None` while there is none to commit to.
    Watching { project: PathBuf, branch: Option<String>, sight: EventSource },
    /// Another watcher of this clone runs, so this one waits to take over.
    StandingBy,
    /// The watcher serves metrics; `exposed`: other machines may reach them.
    Serving { address: SocketAddr, exposed: bool },
    /// Metrics could not be counted: scrapes get the last count.
    Uncounted { problem: String },
    /// The source of events has changed.
    EventSource(EventSource),
    /// A completion file was accepted, refused, or waits.
    Delivered(DeliveryOutcome),
    /// A hand-made task is at its first gate.
    Adopted(Box<Changed>),
    /// The task of a period was made.
    Recurred(Box<Changed>),
    /// A task moved on from a gate that decides automatically.
    Passed(Box<Changed>),
    /// A visit ended by its time limit.
    TimedOut(Box<Changed>),
    /// A claim that was not renewed ended.
    ClaimExpired(Box<Changed>),
    /// A task follows rules that have changed.
    RulesFollowed(Box<Changed>),
    /// A task file that a merge left in the wrong folder was moved.
    Moved(Box<Changed>),
    /// A person's edit was committed.
    Committed(Box<Changed>),
    /// Git's index has HEAD's version of these files again, after a git command had written earlier ones.
    IndexRepaired { files: Vec<String> },
    /// Steps that a git command had dropped are on the branch again.
    StepsRestored(RestoredSteps),
    /// A git command dropped steps that a person must restore.
    StepsDropped { problem: String, fix: String },
    /// Work was given to an agent.
    Assigned(WorkAssignment),
    /// A task was blocked or unblocked by its dependencies.
    DependencyChanged(DependencyChange),
    /// A task needs a person.
    TaskFailed { task: TaskId, error: ProjectError },
    /// A file among the tasks looks like a task, but is not one.
    Stray { path: String, reason: String },
    /// New rules are in force.
    RulesInForce { commit: CommitId },
    /// The committed rules are invalid; those of an older commit stay in force.
    RulesInvalid { in_force: CommitId, diagnostics: Vec<Diagnostic> },
    /// The worktree's rules differ from the committed ones, in these files.
    RulesUncommitted { files: Vec<String> },
    /// A notice could not be delivered.
    Undelivered { problem: String },
    /// The event stream could not be updated.
    Unrecorded { problem: String },
    /// The project was synced with its remote.
    Synced(Box<SyncResult>),
    /// The project could not be synced with its remote.
    Unsynced { problem: String, fix: Option<String> },
    /// During an operation of git, or without a branch, nothing is committed.
    Paused { reason: String },
    /// An error stops all work; it is retried.
    Failed(ProjectError),
    /// A pause or an error has ended.
    Resumed,
    /// The watcher stops.
    Stopped,
}

/// The outcome of one file of the inbox.
pub(crate) enum DeliveryOutcome {
    /// The completion was accepted.
    Completed { name: String, changed: Box<Changed> },
    /// The completion was refused, and its file moved to that path, beside the reason.
    Refused { name: String, reason: Value, path: PathBuf },
    /// The file waits because of a temporary error, and is retried.
    Waiting { name: String, error: ProjectError },
}

/// The way in which the watcher notices changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EventSource {
    /// File events of the system.
    Events,
    /// A check every second, since the system gives no events.
    Polling { reason: String },
}

/// Errors that were reported, so that each is reported once while it lasts.
#[derive(Default)]
pub(crate) struct ReportedErrors {
    met: HashSet<String>,
    before: HashSet<String>,
}

impl ReportedErrors {
    /// Returns whether the error is new.
    pub(crate) fn is_new(&mut self, text: String) -> bool {
        let known = self.before.contains(&text);
        self.met.insert(text) && !known
    }

    /// Ends a check of everything: errors that did not occur again have ended.
    pub(crate) fn end_check(&mut self) {
        self.before = std::mem::take(&mut self.met);
    }
}

/// Git does not wait for its index: during much work, other processes get a third of the time.
const REST_SHARE: u32 = 2;
const SHORTEST_REST: Duration = Duration::from_millis(5);
const LONGEST_REST: Duration = Duration::from_millis(100);

/// The time for which a closed file is left alone: a script that writes with `>` and then `>>` closes it
/// twice.
const CLOSED_WAIT: Duration = Duration::from_millis(200);

pub(crate) struct Reporter<'t> {
    pub wakeup: Arc<Wakeup>,
    /// True if anything was done since this was reset.
    pub busy: bool,
    /// True if anything failed.
    pub failed: bool,
    /// True if completion files wait.
    pub waiting: bool,
    /// The reported errors of single files and tasks.
    pub errors: ReportedErrors,
    finished: HashMap<OsString, FinishedBy>,
    tell: &'t mut dyn FnMut(WatchReport),
}

/// The way in which a file in the inbox was finished.
#[derive(Clone, Copy)]
enum FinishedBy {
    Renamed,
    Closed(Instant),
}

impl<'t> Reporter<'t> {
    pub(crate) fn new(wakeup: Arc<Wakeup>, tell: &'t mut dyn FnMut(WatchReport)) -> Self {
        let (errors, finished) = (ReportedErrors::default(), HashMap::new());
        Self { wakeup, busy: false, failed: false, waiting: false, errors, finished, tell }
    }

    pub(crate) fn tell(&mut self, report: WatchReport) {
        (self.tell)(report);
    }

    /// Reports tasks that need a person, sorted, each error once while it lasts.
    pub(crate) fn report_failures(&mut self, mut failures: Vec<(TaskId, ProjectError)>) {
        failures.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (task, error) in failures {
            self.failed = true;
            if self.errors.is_new(format!("{task}: {error}")) {
                self.tell(WatchReport::TaskFailed { task, error });
            }
        }
    }

    /// Notes events of files in the inbox.
    pub(crate) fn note(&mut self, signs: Vec<(OsString, FileSign)>) {
        for (name, sign) in signs {
            match sign {
                FileSign::Renamed => self.finished.insert(name, FinishedBy::Renamed),
                FileSign::Closed => self.finished.insert(name, FinishedBy::Closed(Instant::now())),
                FileSign::Begun | FileSign::Gone => self.finished.remove(&name),
            };
        }
    }

    /// Leaves the repository to other processes for a while; returns whether to continue.
    pub(crate) fn rest(&self, worked: Duration) -> ControlFlow<()> {
        let rest = if worked.is_zero() {
            worked
        } else {
            (worked / REST_SHARE).clamp(SHORTEST_REST, LONGEST_REST)
        };
        if self.wakeup.pause(rest) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Returns whether events have shown that a file in the inbox is finished.
    pub(crate) fn witnessed(&self, name: &OsStr) -> Witnessed {
        match self.finished.get(name) {
            Some(FinishedBy::Renamed) => Witnessed::Renamed,
            Some(FinishedBy::Closed(at)) if at.elapsed() >= CLOSED_WAIT => Witnessed::Closed,
            Some(FinishedBy::Closed(_)) | None => Witnessed::Nothing,
        }
    }

    /// Reports the outcome of a completion file.
    pub(crate) fn report_delivered(&mut self, delivered: DeliveryOutcome) {
        let name = match &delivered {
            DeliveryOutcome::Completed { name, .. } | DeliveryOutcome::Refused { name, .. } => {
                self.busy = true;
                name
            }
            DeliveryOutcome::Waiting { name, error } => {
                (self.failed, self.waiting) = (true, true);
                if !self.errors.is_new(error.to_string()) {
                    return;
                }
                name
            }
        };
        self.finished.remove(OsStr::new(name));
        self.tell(WatchReport::Delivered(delivered));
    }

    /// Reports that a notice or an event could not be written.
    pub(crate) fn report_undelivered(&mut self, problem: String) {
        if self.errors.is_new(problem.clone()) {
            self.tell(WatchReport::Undelivered { problem });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_reported_once_while_it_lasts() {
        let mut reported = ReportedErrors::default();
        assert!(reported.is_new("full".to_owned()) && !reported.is_new("full".to_owned()));
        reported.end_check();
        assert!(!reported.is_new("full".to_owned()) && reported.is_new("locked".to_owned()));
        reported.end_check();
        reported.end_check();
        assert!(reported.is_new("full".to_owned()));
    }

    #[test]
    fn a_closed_file_rests_for_a_moment_and_a_renamed_one_does_not() {
        let mut tell = |_| {};
        let mut reporter = Reporter::new(Arc::default(), &mut tell);
        let name = OsString::from("a.yaml");
        assert_eq!(reporter.witnessed(&name), Witnessed::Nothing);
        reporter.note(vec![(name.clone(), FileSign::Renamed)]);
        assert_eq!(reporter.witnessed(&name), Witnessed::Renamed);
        let before = Instant::now();
        reporter.note(vec![(name.clone(), FileSign::Closed)]);
        let witnessed = reporter.witnessed(&name);
        assert!(
            witnessed == Witnessed::Nothing || before.elapsed() >= CLOSED_WAIT,
            "{witnessed:?}"
        );
        if let Some(long_ago) = before.checked_sub(CLOSED_WAIT) {
            reporter.finished.insert(name.clone(), FinishedBy::Closed(long_ago));
            assert_eq!(reporter.witnessed(&name), Witnessed::Closed);
        }
        for seen in [FileSign::Begun, FileSign::Gone] {
            reporter.note(vec![(name.clone(), FileSign::Renamed), (name.clone(), seen)]);
            assert_eq!(reporter.witnessed(&name), Witnessed::Nothing);
        }
    }
}
