//! What is going on, told while it goes on. Whoever shows it decides how.

use std::time::Duration;

use crate::domain::{AgentId, RoleId, Station, Status, Ticket};

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// An agent was started.
    Started(Started),
    /// It printed something; the last line of it.
    Printed {
        /// Where it works.
        ticket: Ticket,
        /// The line, as it came.
        line: String,
    },
    /// An attempt came to nothing.
    AttemptFailed {
        /// Where.
        ticket: Ticket,
        /// Which attempt, from 1.
        attempt: u32,
        /// Why.
        why: String,
        /// When the next one begins; nothing where there is none.
        again_in: Option<Duration>,
    },
    /// A visit ended, and the task went on.
    Moved {
        /// The visit.
        ticket: Ticket,
        /// Where it was.
        from: Station,
        /// What was said.
        outcome: String,
        /// The summary.
        summary: Option<String>,
        /// Where the task is now.
        to: Option<Station>,
        /// How the task stands now.
        status: Status,
        /// How long the agent was at it.
        took: Duration,
    },
    /// A place waits, and this runner does nothing about it.
    Waits(Waits),
    /// An agent cannot be started.
    Unavailable {
        /// Who.
        agent: AgentId,
        /// Why, and what to do.
        why: String,
    },
    /// Something that passes keeps everybody from beginning anything.
    Obstacle(String),
    /// Something to know that stops nothing.
    Remark {
        /// Where.
        ticket: Ticket,
        /// What.
        text: String,
    },
}

/// An agent that was started.
#[derive(Debug, Clone, PartialEq)]
pub struct Started {
    /// The visit.
    pub ticket: Ticket,
    /// The gate, or the branch of it.
    pub station: Station,
    /// What the task is called.
    pub title: String,
    /// Who.
    pub agent: AgentId,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// How many there are at most.
    pub attempts: u32,
    /// The gate's number in its workflow, from 1.
    pub step: usize,
    /// How many gates the workflow has.
    pub steps: usize,
}

/// A place that waits for somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waits {
    /// The visit, or the branch of it.
    pub ticket: Ticket,
    /// Where.
    pub station: Station,
    /// Whose work it is.
    pub role: RoleId,
    /// Who could do it.
    pub agents: Vec<AgentId>,
    /// Why this runner does nothing about it.
    pub why: Why,
}

/// Why a place waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It is for people.
    People,
    /// It is blocked.
    Blocked(Vec<String>),
    /// Nobody who may work there can be started: org.yaml does not say how.
    NotStartable,
    /// Somebody has it whom nobody starts here.
    Held(AgentId),
    /// Another runner is at it, or this one has tried.
    Tried(String),
}
