//! The input of a runner, its listener, and its result.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::run_event::{RunEvent, WaitingWork};
use crate::dispatch::openings::Opening;
use crate::domain::{AgentId, Completion, RoleId, Status, TaskId, Ticket};
use crate::files::task_file::TaskFile;
use crate::project::aside::{Clock, warn_in_log};
use crate::project::error::ProjectError;
use crate::project::workspace::{Network, Workspace};
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
        workspace.own_folder_is_ours()?;
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
