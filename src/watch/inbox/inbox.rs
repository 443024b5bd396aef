//! Where completion files arrive: which of them are finished, what became of each, and the gaps between batches.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::queue::Trouble;
use crate::storage::inbox::Witnessed;
use crate::tasks::inbox::recipient::{Delivered, Recipient};
use crate::watch::report::{Report, Told};
use crate::watch::wakeup::{Seen, Wakeup};

/// Git does not wait for its index: others get a third of the time while there is much to do.
const REST_SHARE: u32 = 2;
const SHORTEST_REST: Duration = Duration::from_millis(5);
const LONGEST_REST: Duration = Duration::from_millis(100);

/// How long a file that was closed is left alone before it is looked at: scripts that write with `>` and then `>>` close it each time.
const SETTLING: Duration = Duration::from_millis(200);

/// The watcher's side of deliveries.
pub(crate) struct Desk<'t> {
    pub wakeup: Arc<Wakeup>,
    /// Whether anything was done since this was set back.
    pub busy: bool,
    /// Whether anything could not be done.
    pub failed: bool,
    /// The completion files that turned out to wait, and for what.
    pub waiting: Vec<(String, Trouble)>,
    /// Trouble of single files.
    pub told: Told,
    /// The folder of the project.
    root: PathBuf,
    finished: HashMap<OsString, Finished>,
    tell: &'t mut dyn FnMut(Report),
}

/// How a file in the inbox came to be finished.
#[derive(Clone, Copy)]
enum Finished {
    /// It was renamed in.
    Renamed,
    /// It was closed, then.
    Closed(Instant),
}

impl<'t> Desk<'t> {
    pub(crate) fn new(root: PathBuf, wakeup: Arc<Wakeup>, tell: &'t mut dyn FnMut(Report)) -> Self {
        Self {
            wakeup,
            busy: false,
            failed: false,
            waiting: Vec::new(),
            told: Told::default(),
            root,
            finished: HashMap::new(),
            tell,
        }
    }

    /// Tells of something.
    pub(crate) fn tell(&mut self, report: Report) {
        (self.tell)(report);
    }

    /// Notes what was seen of files in the inbox.
    pub(crate) fn note(&mut self, seen: Vec<(OsString, Seen)>) {
        for (name, seen) in seen {
            match seen {
                Seen::Renamed => self.finished.insert(name, Finished::Renamed),
                Seen::Closed => self.finished.insert(name, Finished::Closed(Instant::now())),
                Seen::Begun | Seen::Gone => self.finished.remove(&name),
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
            Some(Finished::Renamed) => Witnessed::Renamed,
            Some(Finished::Closed(at)) if at.elapsed() >= SETTLING => Witnessed::Closed,
            Some(Finished::Closed(_)) | None => Witnessed::Nothing,
        }
    }

    fn told(&mut self, delivered: Delivered) {
        let name = match &delivered {
            Delivered::Completed { name, .. } | Delivered::Refused { name, .. } => {
                self.busy = true;
                name
            }
            Delivered::Waiting { name, error } => {
                self.failed = true;
                self.waiting.push((name.clone(), Trouble::of(&self.root, error)));
                if !self.told.is_news(error.to_string()) {
                    return;
                }
                name
            }
        };
        self.finished.remove(OsStr::new(name));
        self.tell(Report::Delivered(delivered));
    }

    fn untold(&mut self, problem: String) {
        if self.told.is_news(problem.clone()) {
            self.tell(Report::Undelivered { problem });
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
        let mut desk = Desk::new(PathBuf::new(), Arc::default(), &mut tell);
        let name = OsString::from("a.yaml");
        assert_eq!(desk.witnessed(&name), Witnessed::Nothing);
        desk.note(vec![(name.clone(), Seen::Renamed)]);
        assert_eq!(desk.witnessed(&name), Witnessed::Renamed);
        let before = Instant::now();
        desk.note(vec![(name.clone(), Seen::Closed)]);
        let witnessed = desk.witnessed(&name);
        assert!(witnessed == Witnessed::Nothing || before.elapsed() >= SETTLING, "{witnessed:?}");
        if let Some(long_ago) = before.checked_sub(SETTLING) {
            desk.finished.insert(name.clone(), Finished::Closed(long_ago));
            assert_eq!(desk.witnessed(&name), Witnessed::Closed);
        }
        for seen in [Seen::Begun, Seen::Gone] {
            desk.note(vec![(name.clone(), Seen::Renamed), (name.clone(), seen)]);
            assert_eq!(desk.witnessed(&name), Witnessed::Nothing);
        }
    }
}
