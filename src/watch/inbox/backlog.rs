//! Completion files that were taken and wait: what a watcher left that was killed, and what something keeps back. They are tried again
//! in small shares, behind what comes meanwhile.

use std::time::{Duration, Instant};

use super::inbox::Desk;
use super::queue::Queue;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::inbox::TakenFile;
use crate::tasks::inbox::deliver::{leftovers, resume};
use crate::tasks::inbox::intended_visit::Heard;

/// So long at most what waits is tried again before it is looked for what came meanwhile.
const SHARE: Duration = Duration::from_millis(40);

/// The files that wait.
pub(crate) struct Backlog {
    /// Whether files are looked for that were taken and not settled, before any others are.
    unknown: bool,
    queue: Queue,
    /// Whether all of them are to be tried again, and whether that has begun.
    retry: Retry,
}

/// Whether all that waits is to be tried again.
#[derive(PartialEq, Eq)]
enum Retry {
    No,
    Due,
    Begun,
}

impl Default for Backlog {
    fn default() -> Self {
        Self { unknown: true, queue: Queue::default(), retry: Retry::No }
    }
}

impl Backlog {
    /// Has it found out anew what there is.
    pub(crate) fn forget(&mut self) {
        self.unknown = true;
    }

    /// Has all of them tried again. Where there are very many the last time may not be over.
    pub(crate) fn try_all(&mut self) {
        if self.retry == Retry::No {
            self.retry = Retry::Due;
        }
    }

    /// Returns whether any are to be tried.
    pub(crate) fn is_due(&self) -> bool {
        self.queue.is_due()
    }

    /// Notes what met trouble at the desk.
    pub(crate) fn note(&mut self, desk: &mut Desk<'_>) {
        self.queue.note(desk.waiting.drain(..));
    }

    /// Returns what there is, where that is not known, to be worked off with what came meanwhile.
    pub(crate) fn begin(
        &mut self,
        workspace: &Workspace,
        desk: &mut Desk<'_>,
    ) -> Result<Vec<TakenFile>, OpsError> {
        if !self.unknown {
            return Ok(Vec::new());
        }
        let all = leftovers(workspace, desk)?;
        self.queue = Queue::default();
        Ok(all)
    }

    /// All of that was tried.
    pub(crate) fn begun(&mut self, desk: &mut Desk<'_>) {
        if self.unknown {
            desk.told.forget_the_rest();
            (self.unknown, self.retry) = (false, Retry::No);
        }
    }

    /// Tries again what waits, for a short while: what comes meanwhile is not to wait for that.
    pub(crate) fn go_on(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        heard: &mut Heard,
        desk: &mut Desk<'_>,
        tending: bool,
    ) -> Result<(), OpsError> {
        if self.retry == Retry::Due {
            self.queue.try_all(leftovers(workspace, desk)?);
            self.retry = Retry::Begun;
        } else if tending && self.queue.may_go_on() {
            // What waited for a task file may have come with what changed among them.
            self.queue.try_changed(leftovers(workspace, desk)?);
        }
        if self.queue.is_due() {
            let start = Instant::now();
            self.resume(workspace, wait, heard, desk, &mut |queue, room| {
                if start.elapsed() < SHARE { queue.next(room) } else { Vec::new() }
            })?;
            if self.queue.is_due() {
                // Who has this ended is asked next.
                let _ = desk.rest(start.elapsed());
            }
        }
        if self.retry == Retry::Begun && !self.queue.is_due() {
            desk.told.forget_the_rest();
            self.retry = Retry::No;
        }
        Ok(())
    }

    fn resume(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        heard: &mut Heard,
        desk: &mut Desk<'_>,
        next: &mut dyn FnMut(&mut Queue, usize) -> Vec<TakenFile>,
    ) -> Result<(), OpsError> {
        let queue = &mut self.queue;
        let done = resume(workspace, wait, &mut |room| next(queue, room), heard, desk);
        self.note(desk);
        done
    }
}
