//! Completion files that were taken and wait: left by a killed watcher, or kept back by an error. They are tried again a few at a
//! time, behind what arrives meanwhile.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::desk::Desk;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::inbox::InboxFile;
use crate::tasks::inbox::deliver::{Recipient, leftovers, resume};
use crate::tasks::inbox::visits::DeliveredVisits;

/// How long waiting files are tried before new ones are looked for.
const SHARE: Duration = Duration::from_millis(40);
/// How many are tried at once, before the time is looked at.
const TOGETHER: usize = 8;

/// The files that wait.
pub(crate) struct Backlog {
    /// Whether it is unknown which files wait: they are looked for before new files are taken.
    unknown: bool,
    /// Whether files wait for a task file.
    waits: bool,
    /// Whether all of them are to be tried again. Errors that are met no more are over then.
    retry: Retry,
    /// Those that are to be tried now, the oldest first.
    due: VecDeque<InboxFile>,
}

/// Whether all files that wait are tried again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Retry {
    No,
    Due,
    Begun,
}

impl Backlog {
    pub(crate) fn new() -> Self {
        Self { unknown: true, waits: false, retry: Retry::No, due: VecDeque::new() }
    }

    /// Has the files looked for again.
    pub(crate) fn forget(&mut self) {
        self.unknown = true;
    }

    /// Has all of them tried again, behind those of the last time.
    pub(crate) fn try_all(&mut self) {
        if self.retry == Retry::No {
            self.retry = Retry::Due;
        }
    }

    /// Returns whether any are to be tried now.
    pub(crate) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Returns the files that wait, where they are unknown, to be worked on with the new ones.
    pub(crate) fn begin(
        &mut self,
        workspace: &Workspace,
        desk: &mut Desk<'_>,
    ) -> Result<Vec<InboxFile>, ProjectError> {
        desk.waiting = false;
        if !self.unknown {
            return Ok(Vec::new());
        }
        self.due.clear();
        leftovers(workspace, desk)
    }

    /// Notes that all of those were tried.
    pub(crate) fn begun(&mut self, desk: &mut Desk<'_>) {
        self.waits |= desk.waiting;
        if self.unknown {
            desk.told.forget_the_rest();
            (self.unknown, self.retry) = (false, Retry::No);
        }
    }

    /// Tries waiting files for a short while. `changed` says whether task files may have changed, which may end the wait.
    pub(crate) fn go_on(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        visits: &mut DeliveredVisits,
        desk: &mut Desk<'_>,
        changed: bool,
    ) -> Result<(), ProjectError> {
        let is_due = self.retry == Retry::Due;
        if self.due.is_empty() && (is_due || changed && self.waits) {
            self.due = leftovers(workspace, desk)?.into();
            self.retry = if is_due { Retry::Begun } else { Retry::No };
            self.waits = false;
        }
        if !self.due.is_empty() {
            let (start, due) = (Instant::now(), &mut self.due);
            let mut more = |room: usize| {
                let most = if start.elapsed() < SHARE { room.min(TOGETHER) } else { 0 };
                due.drain(..due.len().min(most)).collect()
            };
            desk.waiting = false;
            let done = resume(workspace, wait, &mut more, visits, desk);
            self.waits |= desk.waiting;
            if !self.due.is_empty() {
                // The loop looks next whether to end.
                let _ = desk.rest(start.elapsed());
            }
            done?;
        }
        if self.due.is_empty() && self.retry == Retry::Begun {
            desk.told.forget_the_rest();
            self.retry = Retry::No;
        }
        Ok(())
    }
}
