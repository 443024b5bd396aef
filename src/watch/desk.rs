//! The watcher's side of deliveries: which completion files are finished, what became of each, and the pauses between batches.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::report::{ReportedErrors, WatchReport};
use super::wakeup::{FileSign, Wakeup};
use crate::domain::{Digest, TaskId};
use crate::observability::notices::compose::put_conflict;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Refusal;
use crate::storage::inbox::Witnessed;
use crate::tasks::inbox::deliver::{Delivered, Recipient};

/// Git does not wait for its index: others get a third of the time while there is much to do.
const REST_SHARE: u32 = 2;
const SHORTEST_REST: Duration = Duration::from_millis(5);
const LONGEST_REST: Duration = Duration::from_millis(100);

/// How long a closed file is left alone: scripts that write with `>` and then `>>` close it each time.
const SETTLING: Duration = Duration::from_millis(200);

pub(crate) struct Desk<'t> {
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

impl<'t> Desk<'t> {
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
}

impl Recipient for Desk<'_> {
    fn witnessed(&self, name: &OsStr) -> Witnessed {
        match self.finished.get(name) {
            Some(FinishedBy::Renamed) => Witnessed::Renamed,
            Some(FinishedBy::Closed(at)) if at.elapsed() >= SETTLING => Witnessed::Closed,
            Some(FinishedBy::Closed(_)) | None => Witnessed::Nothing,
        }
    }

    fn told(&mut self, delivered: Delivered) {
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

    fn late(
        &mut self,
        workspace: &Workspace,
        refusal: &Refusal,
        delivery: &Digest,
    ) -> Result<(), ProjectError> {
        put_conflict(workspace, refusal, delivery)
    }

    fn untold(&mut self, problem: String) {
        if self.told.is_news(problem.clone()) {
            self.tell(WatchReport::Undelivered { problem });
        }
    }

    fn rest(&mut self, worked: Duration) -> ControlFlow<()> {
        Desk::rest(self, worked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_closed_is_left_alone_for_a_moment_and_what_was_renamed_in_is_not() {
        let mut tell = |_| {};
        let mut desk = Desk::new(Arc::default(), &mut tell);
        let name = OsString::from("a.yaml");
        assert_eq!(desk.witnessed(&name), Witnessed::Nothing);
        desk.note(vec![(name.clone(), FileSign::Renamed)]);
        assert_eq!(desk.witnessed(&name), Witnessed::Renamed);
        let before = Instant::now();
        desk.note(vec![(name.clone(), FileSign::Closed)]);
        let witnessed = desk.witnessed(&name);
        assert!(witnessed == Witnessed::Nothing || before.elapsed() >= SETTLING, "{witnessed:?}");
        if let Some(long_ago) = before.checked_sub(SETTLING) {
            desk.finished.insert(name.clone(), FinishedBy::Closed(long_ago));
            assert_eq!(desk.witnessed(&name), Witnessed::Closed);
        }
        for seen in [FileSign::Begun, FileSign::Gone] {
            desk.note(vec![(name.clone(), FileSign::Renamed), (name.clone(), seen)]);
            assert_eq!(desk.witnessed(&name), Witnessed::Nothing);
        }
    }
}
