//! Who sits beside an agent that runs: writes down what it prints, sees whether the task is still its own, renews its claim.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::agents::runner::news::News;
use crate::agents::runner::project::Project;
use crate::agents::runner::visit_state::{Standing, standing};
use crate::domain::{AgentId, Ticket};
use crate::project::error::error::OpsError;
use crate::system::process::{Attendant, Stream, Transcript};
use crate::tasks::actions::renew;
use crate::tasks::apply::change::DryRun;

/// How often the task is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How often what is printed is told.
const TELL: Duration = Duration::from_millis(100);

/// Why a program is ended before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Somebody wants the runner to stop.
    Stopped,
    /// The task is not the agent's any more.
    Overtaken(String),
}

/// What bounds an attempt from outside.
pub(crate) struct Attending<'a, W> {
    pub project: &'a Project,
    pub ticket: &'a Ticket,
    pub agent: &'a AgentId,
    /// How long the history was when the visit began to be run.
    pub since: usize,
    /// How long a claim lasts, in seconds.
    pub lease: Option<u64>,
    pub transcript: Transcript<W>,
    pub stop: &'a AtomicBool,
    pub news: &'a dyn Fn(News),
    path: PathBuf,
    seen: Option<(i64, i64, u64)>,
    looked: Instant,
    renewed: Instant,
    told: Instant,
}

impl<'a, W> Attending<'a, W> {
    #[expect(clippy::too_many_arguments, reason = "it is made in one place")]
    pub(crate) fn new(
        project: &'a Project,
        ticket: &'a Ticket,
        agent: &'a AgentId,
        since: usize,
        lease: Option<u64>,
        transcript: Transcript<W>,
        stop: &'a AtomicBool,
        news: &'a dyn Fn(News),
        path: PathBuf,
    ) -> Self {
        let now = Instant::now();
        let seen = stamp(&path);
        Self {
            project,
            ticket,
            agent,
            since,
            lease,
            transcript,
            stop,
            news,
            path,
            seen,
            looked: now,
            renewed: now,
            told: now,
        }
    }

    /// Says why the work is not the agent's any more, if it is not.
    fn overtaken(&mut self) -> Result<Option<String>, OpsError> {
        let workspace = self.project.open()?;
        Ok(match standing(&workspace, self.ticket, self.agent, self.since)? {
            Standing::Open(open) => match open.opening.holder {
                Some(holder) if holder != *self.agent => Some(format!("`{holder}` has it now")),
                _ => None,
            },
            // It has said its word, and may finish what it does besides.
            Standing::Said(_) => None,
            Standing::Gone(why) => Some(why),
        })
    }

    fn keep_claim(&mut self) -> Result<(), OpsError> {
        let workspace = Project { wait: Duration::ZERO, ..self.project.clone() }.open()?;
        if let Standing::Open(_) = standing(&workspace, self.ticket, self.agent, self.since)? {
            renew(&workspace, self.ticket, self.agent, None, DryRun::No)?;
        }
        Ok(())
    }

    fn remark(&self, error: &OpsError) {
        (self.news)(News::Remark { ticket: self.ticket.clone(), text: error.to_string() });
    }
}

impl<W: Write> Attendant for Attending<'_, W> {
    type Reason = Reason;

    fn printed(&mut self, stream: Stream, bytes: &[u8]) {
        self.transcript.take(stream, bytes);
        if self.told.elapsed() >= TELL {
            self.told = Instant::now();
            (self.news)(News::Printed {
                ticket: self.ticket.clone(),
                line: self.transcript.last_line(),
            });
        }
    }

    fn wants_end(&mut self) -> Option<Reason> {
        if self.stop.load(Ordering::Relaxed) {
            return Some(Reason::Stopped);
        }
        if self.looked.elapsed() < LOOK {
            return None;
        }
        self.looked = Instant::now();
        let lease = self.lease.map(Duration::from_secs);
        if lease.is_some_and(|lease| self.renewed.elapsed() >= lease / 3) {
            match self.keep_claim() {
                Ok(()) => self.renewed = Instant::now(),
                // The next look comes soon, and what the program prints does not wait.
                Err(error) if error.passes() => {}
                Err(error) => {
                    self.renewed = Instant::now();
                    self.remark(&error);
                }
            }
        }
        // A file that did not change says what it said.
        let now = stamp(&self.path);
        if now == self.seen && now.is_some() {
            return None;
        }
        match self.overtaken() {
            Ok(why) => {
                self.seen = now;
                why.map(Reason::Overtaken)
            }
            Err(error) => {
                self.seen = now;
                self.remark(&error);
                None
            }
        }
    }
}

fn stamp(path: &PathBuf) -> Option<(i64, i64, u64)> {
    let meta = fs::metadata(path).ok()?;
    Some((meta.mtime(), meta.mtime_nsec(), meta.ino()))
}
