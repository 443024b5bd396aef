//! The input of a runner, its listener, and its result.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::dispatch::workplaces::Opening;
use crate::domain::{AgentId, Completion, RoleId, Station, Status, Task, TaskId, Ticket, Visit};
use crate::files::task_file::TaskFile;
use crate::project::error::ProjectError;
use crate::project::workspace::{Clock, Network, Workspace, warn_in_log};
use crate::rules::Rules;
use crate::rules::brief::GateContext;
use crate::storage::ProjectPath;

/// What a project is opened with.
#[derive(Debug, Clone)]
pub struct RunnerSetup {
    /// The folder of the project.
    pub root: PathBuf,
    /// Where agents work: the same folder, unless the project lives on a branch of its own.
    pub checkout: PathBuf,
    /// The command, as waiting ones are shown it.
    pub command: String,
    /// What tells the time.
    pub clock: Clock,
    /// How long others are waited for.
    pub wait: Duration,
    /// Whether the remote of a synced project is asked before something is claimed.
    pub network: Network,
    /// The program that aof is: agents are told where to find it.
    pub aof: PathBuf,
}

impl RunnerSetup {
    /// Opens it anew, if what runners left there is this clone's own.
    pub fn open(&self) -> Result<Workspace, ProjectError> {
        let mut workspace =
            Workspace::at(&self.root, self.command.clone(), self.clock, self.wait, warn_in_log)?;
        self.checkout.clone_into(&mut workspace.checkout);
        workspace.network = self.network;
        workspace.check_own_folder()?;
        Ok(workspace)
    }
}

/// What is to be worked at.
#[derive(Debug, Clone)]
pub enum RunTarget {
    /// Whatever there is for these agents.
    Agents {
        /// The agents, in the order in which they are served.
        agents: Vec<AgentId>,
        /// Only work of this role.
        role: Option<RoleId>,
    },
    /// One task, to its end.
    Task(TaskId),
}

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// As far as it goes.
    Through,
    OneVisit,
}

/// Why a runner has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// There is nothing that these agents could do.
    NothingLeft,
    Finished(Status),
    /// The task waits for somebody else.
    Waiting(Vec<WaitingWork>),
    /// One visit was wanted, and made.
    Stepped,
    /// The runner was asked to stop.
    Stopped,
}

/// What a runner did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// How many visits it ended.
    pub visits: usize,
    /// The agents that could not be started, each with why.
    pub unavailable: BTreeMap<AgentId, String>,
    /// How many of them came to nothing, each with why.
    pub given_up: Vec<(Ticket, String)>,
    /// Why it stopped.
    pub end: RunOutcome,
}

/// What a person is asked about.
pub struct PersonQuestion<'a> {
    pub opening: &'a Opening,
    pub file: &'a TaskFile,
    /// Where its file is.
    pub path: &'a ProjectPath,
    /// What the gate is about.
    pub context: &'a GateContext,
    /// What was said before and refused, if anything was.
    pub refused: Option<&'a Refused>,
}

/// What a person said, and why it was refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    pub completion: Completion,
    /// All that is wrong with it.
    pub why: String,
    /// What mends it.
    pub fix: String,
}

/// The listener of a run, which may be a person at a terminal.
pub trait Audience {
    /// Hears what happens.
    fn hear(&mut self, news: &RunEvent);

    /// Has time to show that time passes.
    fn tick(&mut self) {}

    /// Lets something happen that may ask at the terminal itself.
    fn aside(&mut self, something: &mut dyn FnMut()) {
        something();
    }

    /// Returns the person's answer at a gate for people; nothing where there is none now.
    fn decide(&mut self, asked: &PersonQuestion<'_>) -> Option<Completion>;
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    /// An agent was started.
    StartedAttempt(StartedAttempt),
    /// It printed something; the last line of it.
    Printed { ticket: Ticket, line: String },
    /// An attempt failed.
    AttemptFailed {
        ticket: Ticket,
        attempt: u32,
        why: String,
        /// When the next one begins; nothing where there is none.
        again_in: Option<Duration>,
    },
    /// A visit ended, and the task went on.
    Moved {
        ticket: Ticket,
        from: Station,
        outcome: String,
        summary: Option<String>,
        /// Where the task is now.
        to: Option<Station>,
        status: Status,
        /// How long the agent was at it.
        took: Duration,
    },
    /// A place waits, and this runner does nothing about it.
    WaitingWork(WaitingWork),
    /// An agent cannot be started.
    Unavailable {
        agent: AgentId,
        /// Why, and what to do.
        why: String,
    },
    /// Something that passes keeps everybody from beginning anything.
    Obstacle(String),
    /// Something to know that stops nothing.
    Remark { ticket: Ticket, text: String },
}

/// An agent that was started.
#[derive(Debug, Clone, PartialEq)]
pub struct StartedAttempt {
    pub ticket: Ticket,
    pub station: Station,
    pub title: String,
    pub agent: AgentId,
    pub attempt: u32,
    pub attempts: u32,
    /// The gate's number in its workflow, from 1.
    pub step: usize,
    /// How many gates the workflow has.
    pub steps: usize,
}

/// A place that waits for somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingWork {
    pub ticket: Ticket,
    pub station: Station,
    pub role: RoleId,
    /// Who could do it.
    pub agents: Vec<AgentId>,
    /// Why this runner does nothing about it.
    pub why: WaitReason,
}

/// Why a place waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitReason {
    People,
    Blocked(Vec<String>),
    /// org.yaml does not say how to start any of the agents that may work there.
    NotStartable,
    /// An agent has it that this runner does not start.
    Held(AgentId),
    /// Another runner is at it, or this one has tried.
    Tried(String),
}

/// The connection of a run with its caller.
#[derive(Clone, Copy)]
pub(crate) struct RunControl<'a> {
    pub stop: &'a AtomicBool,
    pub news: &'a dyn Fn(RunEvent),
}

impl RunControl<'_> {
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn remark(&self, ticket: &Ticket, text: impl Into<String>) {
        (self.news)(RunEvent::remark(ticket, text));
    }
}

impl RunEvent {
    pub(crate) fn remark(ticket: &Ticket, text: impl Into<String>) -> Self {
        Self::Remark { ticket: ticket.clone(), text: text.into() }
    }

    /// Returns the event of a visit that has ended.
    pub(crate) fn moved(
        rules: &Rules,
        ticket: &Ticket,
        from: &Station,
        visit: Option<&Visit>,
        task: &Task,
        took: Duration,
    ) -> Self {
        let stands = rules.workflow_of(task).and(task.gate.as_ref());
        Self::Moved {
            ticket: ticket.clone(),
            from: from.clone(),
            outcome: visit.map(|visit| visit.outcome.to_string()).unwrap_or_default(),
            summary: visit.map(|visit| visit.summary.clone()).filter(|text| !text.is_empty()),
            to: stands.map(|open| Station::from(&open.current)),
            status: task.status,
            took,
        }
    }
}
