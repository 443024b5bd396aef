//! The events of a run, reported while it goes on. The caller decides how to show them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::domain::{AgentId, RoleId, Station, Status, Task, Ticket, Visit};
use crate::rules::Rules;

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
