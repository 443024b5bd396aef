//! A task: what people wrote of it, where it stands, and every gate it went through.

use jiff::Timestamp;

use super::words::words;
use super::{AgentId, GateId, Map, RoleId, Status, TaskId, Ticket, Visit, WorkflowName};

/// A task as its file says it.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Its id; the file is named after it.
    pub id: TaskId,
    /// What it is called.
    pub title: String,
    /// What is to be done, in short; the body says it at length.
    pub description: Option<String>,
    /// Where it stands.
    pub status: Status,
    /// When it was made.
    pub created: Timestamp,
    /// When the engine last changed it.
    pub updated: Timestamp,
    /// Which workflow it follows, and whose it is.
    pub routing: Routing,
    /// The open visit; absent in a task that has ended, and in one that has not been adopted yet.
    pub gate: Option<OpenVisit>,
    /// The visits that have ended, oldest first.
    pub history: Vec<Visit>,
    /// What the last rejection wants, until the gate that sent the task back has passed it.
    pub review: Option<ReviewContext>,
    /// Why it is blocked.
    pub blockers: Vec<String>,
    /// What the task started with, and each gate's latest outputs under the gate's name.
    pub context: Map,
    /// The hash of the workflow that last moved it.
    pub workflow_hash: Option<String>,
    /// A person's labels; conditions see them.
    pub tags: Vec<String>,
    /// A person's facts; conditions see them.
    pub metadata: Map,
    /// Tasks that must be complete before this one is handed out.
    pub depends_on: Vec<TaskId>,
}

impl Task {
    /// Returns the number of the open visit as a ticket, or the bare id when none is open.
    pub fn ticket(&self) -> Ticket {
        Ticket { task: self.id.clone(), visit: self.gate.as_ref().map(|gate| gate.visit) }
    }

    /// Returns `metadata.priority`; absent or foreign words count as medium.
    pub fn priority(&self) -> Priority {
        self.metadata
            .get("priority")
            .and_then(|value| value.as_str())
            .and_then(|word| word.parse().ok())
            .unwrap_or(Priority::Medium)
    }

    /// Returns the time before which nothing can happen to this task any more: its history only moves forward.
    pub fn latest(&self) -> Timestamp {
        let entered = self.gate.as_ref().map(|gate| gate.entered);
        let exited = self.history.last().map(|visit| visit.exited);
        entered.max(exited).unwrap_or(self.created)
    }
}

words!(
    /// How urgent a task is, the most urgent first.
    Priority, "a priority", {
        /// Before everything else.
        Critical = "critical",
        /// Before the usual.
        High = "high",
        /// The usual.
        Medium = "medium",
        /// When nothing else waits.
        Low = "low",
    }
);

/// Which workflow a task follows, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routing {
    /// The workflow.
    pub workflow: WorkflowName,
    /// The role of the open visit's gate; absent when no visit is open.
    pub role: Option<RoleId>,
    /// Who has claimed the task.
    pub agent: Option<AgentId>,
}

/// The stay of a task at a gate that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenVisit {
    /// The gate.
    pub current: GateId,
    /// When the task came to it.
    pub entered: Timestamp,
    /// The length of the history when the visit opened: a visit's number.
    pub visit: usize,
    /// The role that this visit belongs to in place of the gate's.
    pub escalated: Option<RoleId>,
}

/// What the last rejection wants (spec 1, appendix B).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewContext {
    /// The gate that sent the task back.
    pub from_gate: GateId,
    /// Who did.
    pub from_agent: Option<AgentId>,
    /// In what role; absent where nobody decided.
    pub from_role: Option<RoleId>,
    /// When.
    pub timestamp: Timestamp,
    /// What must be mended.
    pub blockers: Vec<String>,
    /// What the reviewer adds.
    pub notes: Option<String>,
}

/// A text that a completion brings; it is appended to the body of the task file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The visit it belongs to.
    pub ticket: Ticket,
    /// The gate of that visit.
    pub gate: GateId,
    /// Who wrote it.
    pub agent: Option<AgentId>,
    /// When it was handed in.
    pub at: Timestamp,
    /// The text, as it came.
    pub text: String,
}
