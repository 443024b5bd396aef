//! What the watcher reports, each error once while it lasts; and its side of deliveries.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::file_events::{FileSign, Wakeup};
use crate::dispatch::hand_out::{Dependent, Given};
use crate::domain::TaskId;
use crate::files::diagnostic::Diagnostic;
use crate::git::CommitId;
use crate::history::git_race_repair::RestoredSteps;
use crate::history::sync::outcome::Synced;
use crate::project::error::ProjectError;
use crate::storage::inbox::Witnessed;
use crate::tasks::plan::Changed;

/// Something that the watcher did, or met.
pub(crate) enum WatchReport {
    /// It begins. There is no branch while there is none to commit to.
    Watching { project: PathBuf, branch: Option<String>, sight: EventSource },
    /// It serves metrics; `exposed` says whether other machines may reach them.
    Serving { address: SocketAddr, exposed: bool },
    /// Metrics could not be counted: scrapes get what was counted last.
    Uncounted { problem: String },
    /// It notices changes in another way from here on.
    EventSource(EventSource),
    /// A completion file was accepted, refused, or waits.
    Delivered(Delivered),
    /// A hand-made task is at its first gate.
    Adopted(Box<Changed>),
    /// A task went on from a gate that decides by itself.
    Passed(Box<Changed>),
    /// A visit took too long.
    TimedOut(Box<Changed>),
    /// A claim that nobody renewed ended.
    Lapsed(Box<Changed>),
    /// A task follows rules that have changed.
    Followed(Box<Changed>),
    /// A task file that a merge left in the wrong folder was moved.
    Moved(Box<Changed>),
    /// A person's edit was committed.
    Committed(Box<Changed>),
    /// Git's index has HEAD's version of these files again, after a git command had put earlier ones there.
    CaughtUp { files: Vec<String> },
    /// Steps are on the branch again, after a git command had dropped them.
    PutBack(RestoredSteps),
    /// Dropped steps are not on the branch, and a person has to see to it.
    TakenBack { problem: String, fix: String },
    /// Work was given to an agent.
    Given(Given),
    /// A task was blocked, or goes on, because of its dependencies.
    Dependent(Dependent),
    /// A task needs a look.
    Troubled { task: TaskId, error: ProjectError },
    /// A file among the tasks checks like one and is none.
    Stray { path: String, reason: String },
    /// New rules are in force.
    RulesInForce { commit: CommitId },
    /// The committed rules are invalid; those of an older commit stay in force.
    RulesInvalid { in_force: CommitId, diagnostics: Vec<Diagnostic> },
    /// The worktree's rules differ from the committed ones, in these files.
    RulesUncommitted { files: Vec<String> },
    /// A notice could not be delivered.
    Undelivered { problem: String },
    /// The event stream could not be brought up to date.
    Unrecorded { problem: String },
    /// The project was synced with its remote.
    Synced(Box<Synced>),
    /// It could not be synced.
    Unsynced { problem: String, fix: Option<String> },
    /// Git is in the middle of something, or has no branch checked out: nothing is committed until that ends.
    Paused { reason: String },
    /// Nothing can be done at the moment; it is tried again.
    Trouble(ProjectError),
    /// A pause, or trouble, has ended.
    Resumed,
    /// It ends.
    Stopped,
}

/// What became of one file of the inbox.
pub(crate) enum Delivered {
    /// It counted.
    Completed { name: String, changed: Box<Changed> },
    /// It was refused. The reason is beside the file, which is at that path now.
    Refused { name: String, reason: Value, path: PathBuf },
    /// It waits, because nothing can be written now, and is tried again.
    Waiting { name: String, error: ProjectError },
}

/// How the watcher notices changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EventSource {
    /// File events of the system.
    Events,
    /// A look every second, as the system gives no events.
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
    pub(crate) fn is_news(&mut self, text: String) -> bool {
        let known = self.before.contains(&text);
        self.met.insert(text) && !known
    }

    /// Ends a look at everything: errors that were not met again are over.
    pub(crate) fn forget_the_rest(&mut self) {
        self.before = std::mem::take(&mut self.met);
    }
}

/// Git does not wait for its index: others get a third of the time while there is much to do.
const REST_SHARE: u32 = 2;
const SHORTEST_REST: Duration = Duration::from_millis(5);
const LONGEST_REST: Duration = Duration::from_millis(100);

/// How long a closed file is left alone: scripts that write with `>` and then `>>` close it each time.
const SETTLING: Duration = Duration::from_millis(200);

pub(crate) struct Reporter<'t> {
    pub wakeup: Arc<Wakeup>,
    /// Whether anything was done since this was reset.
    pub busy: bool,
    /// Whether anything failed.
    pub failed: bool,
    /// Whether completion files wait.
    pub waiting: bool,
    /// Errors of single files and tasks.
    pub told: ReportedErrors,
    finished: HashMap<OsString, FinishedBy>,
    tell: &'t mut dyn FnMut(WatchReport),
}

/// How a file in the inbox came to be finished.
#[derive(Clone, Copy)]
enum FinishedBy {
    Renamed,
    Closed(Instant),
}

impl<'t> Reporter<'t> {
    pub(crate) fn new(wakeup: Arc<Wakeup>, tell: &'t mut dyn FnMut(WatchReport)) -> Self {
        let (told, finished) = (ReportedErrors::default(), HashMap::new());
        Self { wakeup, busy: false, failed: false, waiting: false, told, finished, tell }
    }

    pub(crate) fn tell(&mut self, report: WatchReport) {
        (self.tell)(report);
    }

    /// Reports tasks that need a look, sorted, each error once while it lasts.
    pub(crate) fn tell_troubled(&mut self, mut troubled: Vec<(TaskId, ProjectError)>) {
        troubled.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (task, error) in troubled {
            self.failed = true;
            if self.told.is_news(format!("{task}: {error}")) {
                self.tell(WatchReport::Troubled { task, error });
            }
        }
    }

    /// Notes what was seen of files in the inbox.
    pub(crate) fn note(&mut self, seen: Vec<(OsString, FileSign)>) {
        for (name, seen) in seen {
            match seen {
                FileSign::Renamed => self.finished.insert(name, FinishedBy::Renamed),
                FileSign::Closed => self.finished.insert(name, FinishedBy::Closed(Instant::now())),
                FileSign::Begun | FileSign::Gone => self.finished.remove(&name),
            };
        }
    }

    /// Leaves the repository to others for a while; returns whether to go on.
    pub(crate) fn rest(&self, worked: Duration) -> ControlFlow<()> {
        let rest = if worked.is_zero() {
            worked
        } else {
            (worked / REST_SHARE).clamp(SHORTEST_REST, LONGEST_REST)
        };
        if self.wakeup.pause(rest) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Returns what was seen of the file of that name in the inbox.
    pub(crate) fn witnessed(&self, name: &OsStr) -> Witnessed {
        match self.finished.get(name) {
            Some(FinishedBy::Renamed) => Witnessed::Renamed,
            Some(FinishedBy::Closed(at)) if at.elapsed() >= SETTLING => Witnessed::Closed,
            Some(FinishedBy::Closed(_)) | None => Witnessed::Nothing,
        }
    }

    /// Reports what became of a completion file.
    pub(crate) fn tell_delivered(&mut self, delivered: Delivered) {
        let name = match &delivered {
            Delivered::Completed { name, .. } | Delivered::Refused { name, .. } => {
                self.busy = true;
                name
            }
            Delivered::Waiting { name, error } => {
                (self.failed, self.waiting) = (true, true);
                if !self.told.is_news(error.to_string()) {
                    return;
                }
                name
            }
        };
        self.finished.remove(OsStr::new(name));
        self.tell(WatchReport::Delivered(delivered));
    }

    /// Reports that a notice or an event could not be written.
    pub(crate) fn tell_undelivered(&mut self, problem: String) {
        if self.told.is_news(problem.clone()) {
            self.tell(WatchReport::Undelivered { problem });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_told_once_while_it_lasts() {
        let mut told = ReportedErrors::default();
        assert!(told.is_news("full".to_owned()) && !told.is_news("full".to_owned()));
        told.forget_the_rest();
        assert!(!told.is_news("full".to_owned()) && told.is_news("locked".to_owned()));
        told.forget_the_rest();
        told.forget_the_rest();
        assert!(told.is_news("full".to_owned()));
    }
}

#[cfg(test)]
mod desk_tests {
    use super::*;

    #[test]
    fn what_was_closed_is_left_alone_for_a_moment_and_what_was_renamed_in_is_not() {
        let mut tell = |_| {};
        let mut reporter = Reporter::new(Arc::default(), &mut tell);
        let name = OsString::from("a.yaml");
        assert_eq!(reporter.witnessed(&name), Witnessed::Nothing);
        reporter.note(vec![(name.clone(), FileSign::Renamed)]);
        assert_eq!(reporter.witnessed(&name), Witnessed::Renamed);
        let before = Instant::now();
        reporter.note(vec![(name.clone(), FileSign::Closed)]);
        let witnessed = reporter.witnessed(&name);
        assert!(witnessed == Witnessed::Nothing || before.elapsed() >= SETTLING, "{witnessed:?}");
        if let Some(long_ago) = before.checked_sub(SETTLING) {
            reporter.finished.insert(name.clone(), FinishedBy::Closed(long_ago));
            assert_eq!(reporter.witnessed(&name), Witnessed::Closed);
        }
        for seen in [FileSign::Begun, FileSign::Gone] {
            reporter.note(vec![(name.clone(), FileSign::Renamed), (name.clone(), seen)]);
            assert_eq!(reporter.witnessed(&name), Witnessed::Nothing);
        }
    }
}
