//! The watch over a running agent: its output, its claim, and whether the visit is still its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::{Attempt, NoAnswer};
use crate::agents::runner::run_types::{RunControl, RunEvent, RunnerSetup};
use crate::agents::runner::work_finder::{VisitState, visit_state};
use crate::project::error::ProjectError;
use crate::storage::runs::RunEnding;
use crate::system::process::{Attendant, Stream, Transcript};
use crate::tasks::actions::renew;
use crate::tasks::plan::DryRun;

/// The interval at which the task is checked while an agent runs.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The interval at which the last printed line is reported.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Watches a running agent: keeps its output, checks that the task is still its own, renews its claim.
pub(super) struct Watch<'a, W> {
    attempt: &'a Attempt<'a>,
    pub(super) transcript: Transcript<W>,
    control: RunControl<'a>,
    lease: Option<Duration>,
    /// The task's file, and the time of its last change.
    path: PathBuf,
    modified: Option<SystemTime>,
    checked: Instant,
    renewed: Instant,
    reported: Instant,
}

impl<'a, W> Watch<'a, W> {
    pub(super) fn new(
        attempt: &'a Attempt<'a>,
        transcript: Transcript<W>,
        control: RunControl<'a>,
    ) -> Self {
        let path = attempt.project.root.join(attempt.open.path.as_str());
        let (now, modified, lease) = (Instant::now(), modified(&path), attempt.lease());
        let (checked, renewed, reported) = (now, now, now);
        Self { attempt, transcript, control, lease, path, modified, checked, renewed, reported }
    }

    /// Returns the reason why the visit is no longer the agent's; `None` if it still is.
    fn find_overtaken(&self) -> Result<Option<String>, ProjectError> {
        let Attempt { project, agent, since, .. } = self.attempt;
        Ok(match visit_state(&project.open()?, self.attempt.ticket(), agent, *since)? {
            VisitState::Open(open) => {
                let other = open.opening.holder.filter(|holder| holder != *agent);
                other.map(|holder| format!("`{holder}` has it now"))
            }
            // The agent has completed the visit, and may finish its other work.
            VisitState::Completed(_) => None,
            VisitState::Gone(why) => Some(why),
        })
    }

    fn keep_claim(&self) -> Result<(), ProjectError> {
        let (Attempt { project, agent, since, .. }, ticket) = (self.attempt, self.attempt.ticket());
        // The renewal is tried again soon, and the program's output does not wait.
        let workspace = RunnerSetup { wait: Duration::ZERO, ..(*project).clone() }.open()?;
        if let VisitState::Open(_) = visit_state(&workspace, ticket, agent, *since)? {
            renew(&workspace, ticket, agent, None, DryRun::No)?;
        }
        Ok(())
    }

    fn remark(&self, error: &ProjectError) {
        self.control.remark(self.attempt.ticket(), error.to_string());
    }
}

impl<W: Write> Attendant for Watch<'_, W> {
    type Reason = NoAnswer;

    fn printed(&mut self, stream: Stream, bytes: &[u8]) {
        self.transcript.take(stream, bytes);
        if self.reported.elapsed() >= REPORT_INTERVAL {
            self.reported = Instant::now();
            let line = self.transcript.last_line();
            let ticket = self.attempt.ticket().clone();
            (self.control.news)(RunEvent::Printed { ticket, line });
        }
    }

    fn wants_end(&mut self) -> Option<NoAnswer> {
        if self.control.is_stopped() {
            return Some((RunEnding::Stopped, None));
        }
        if self.checked.elapsed() < CHECK_INTERVAL {
            return None;
        }
        self.checked = Instant::now();
        if self.lease.is_some_and(|lease| self.renewed.elapsed() >= lease / 3) {
            match self.keep_claim() {
                Err(error) if error.passes() => {}
                kept => {
                    self.renewed = Instant::now();
                    let _ = kept.map_err(|error| self.remark(&error));
                }
            }
        }
        // An unchanged file is not read again.
        let now = modified(&self.path);
        if now == self.modified && now.is_some() {
            return None;
        }
        self.modified = now;
        let overtaken = self.find_overtaken().map_err(|error| self.remark(&error)).ok().flatten();
        overtaken.map(|why| (RunEnding::Overtaken, Some(why)))
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|meta| meta.modified()).ok()
}
