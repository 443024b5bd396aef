//! The options of a runner, its events and listener, and its result.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::dispatch::workplaces::Opening;
use crate::domain::{
    AgentId, Blocker, Completion, RoleId, Station, Status, Task, TaskId, Ticket, Timestamp, Visit,
};
use crate::files::task_file::TaskFile;
use crate::project::error::ProjectError;
use crate::project::workspace::{Clock, Network, Workspace, warn_in_log};
use crate::rules::Rules;
use crate::rules::brief::GateContext;
use crate::storage::ProjectPath;
use crate::storage::header_cache::ProgramPause;

/// The options with which a runner opens the project.
#[derive(Debug, Clone)]
pub struct RunnerSetup {
    /// The folder of the project.
    pub root: PathBuf,
    /// The folder where agents work: the same folder, unless the project lives on a branch of its own.
    pub checkout: PathBuf,
    /// The command, as shown to processes that wait for it.
    pub command: String,
    pub clock: Clock,
    /// The time to wait for other processes.
    pub wait: Duration,
    /// `Used` if the remote of a synced project is asked before a claim.
    pub network: Network,
    /// The path of aof's own program, for agents.
    pub aof: PathBuf,
}

impl RunnerSetup {
    /// Opens the project again. Fails if its `.aof` folder is from elsewhere.
    pub fn open(&self) -> Result<Workspace, ProjectError> {
        let mut workspace =
            Workspace::at(&self.root, self.command.clone(), self.clock, self.wait, warn_in_log)?;
        self.checkout.clone_into(&mut workspace.checkout);
        workspace.network = self.network;
        workspace.agents_commit = true;
        workspace.check_own_folder()?;
        Ok(workspace)
    }
}

/// The work that a runner looks for.
#[derive(Debug, Clone)]
pub enum RunTarget {
    /// All work for these agents.
    Agents {
        /// The agents, in the order in which they are served.
        agents: Vec<AgentId>,
        /// Only work of this role.
        role: Option<RoleId>,
    },
    /// One task, to its end.
    Task(TaskId),
}

/// The amount of work of a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// All possible work.
    Through,
    OneVisit,
    /// All possible work, and what comes later: until the runner is stopped.
    Following,
}

/// The reason why a runner ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// There is no work left for these agents.
    NothingLeft,
    Finished(Status),
    /// The task waits for others.
    Waiting(Vec<WaitingWork>),
    /// The programs for the remaining work are at their usage limits. Contains the pause that ends first.
    Paused(ProgramPause),
    /// Something else must happen first. Contains the reason and the fix.
    Hindered(String),
    /// The one visit that was wanted has ended.
    Stepped,
    /// The runner was asked to stop.
    Stopped,
}

/// The result of a runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The number of visits that the runner ended.
    pub visits: usize,
    /// The agents that could not be started, each with the reason.
    pub unavailable: BTreeMap<AgentId, String>,
    /// The visits whose attempts all failed, each with the last reason.
    pub given_up: Vec<(Ticket, String)>,
    /// The visits that could not be ended here, each with the reason and the fix.
    pub left: Vec<(Ticket, String)>,
    pub end: RunOutcome,
}

/// A question to a person at a gate.
pub struct PersonQuestion<'a> {
    pub opening: &'a Opening,
    pub file: &'a TaskFile,
    pub path: &'a ProjectPath,
    pub context: &'a GateContext,
    pub rules: &'a Rules,
    /// The previous answer if it was refused.
    pub refused: Option<&'a Refused>,
}

/// A person's refused answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    pub completion: Completion,
    pub why: String,
    pub fix: String,
}

/// The listener of a run, which may be a person at a terminal.
pub trait Audience {
    /// Receives an event.
    fn hear(&mut self, news: &RunEvent);

    /// Called regularly while nothing happens.
    fn tick(&mut self) {}

    /// Runs something that may prompt at the terminal itself.
    fn aside(&mut self, something: &mut dyn FnMut()) {
        something();
    }

    /// Returns the person's answer at a gate for people; `None` if there is none now.
    fn decide(&mut self, asked: &PersonQuestion<'_>) -> Option<Completion>;
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    /// An agent was started.
    StartedAttempt(StartedAttempt),
    /// The agent's last printed line.
    Printed { ticket: Ticket, line: String },
    /// An attempt failed.
    AttemptFailed {
        ticket: Ticket,
        attempt: u32,
        why: String,
        /// The pause before the next attempt; `None` if there is no next one.
        again_in: Option<Duration>,
    },
    /// A visit ended, and the task moved on.
    Moved {
        ticket: Ticket,
        from: Station,
        outcome: String,
        summary: Option<String>,
        /// The gate that the task is at now.
        to: Option<Station>,
        status: Status,
        /// The time that the agent worked.
        took: Duration,
    },
    /// An opening that this runner leaves waiting.
    WaitingWork(WaitingWork),
    /// An agent cannot be started.
    Unavailable {
        agent: AgentId,
        /// The reason and the fix.
        why: String,
    },
    /// A program is at its usage limit.
    Paused(ProgramPause),
    /// A temporary error keeps all agents from starting.
    Obstacle(String),
    /// A remark that changes nothing.
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
    /// The number of gates of the workflow.
    pub steps: usize,
}

/// An opening that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingWork {
    pub ticket: Ticket,
    pub station: Station,
    pub role: RoleId,
    /// The agents that may work there.
    pub agents: Vec<AgentId>,
    pub why: WaitReason,
}

/// The reason why a runner leaves an opening waiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitReason {
    People,
    Blocked(Vec<Blocker>),
    /// org.yaml does not specify how to start any of the agents that may work there.
    NotStartable,
    /// An agent that this runner does not start holds the opening.
    Held(AgentId),
    /// Another runner works at the opening, or this one has tried.
    Tried(String),
    /// Its program looks again at that time.
    LooksAgain(Timestamp),
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
        let gate = rules.workflow_of(task).and(task.gate.as_ref());
        Self::Moved {
            ticket: ticket.clone(),
            from: from.clone(),
            outcome: visit.map(|visit| visit.outcome.to_string()).unwrap_or_default(),
            summary: visit.map(|visit| visit.summary.clone()).filter(|text| !text.is_empty()),
            to: gate.map(|open| Station::from(&open.current)),
            status: task.status,
            took,
        }
    }
}
