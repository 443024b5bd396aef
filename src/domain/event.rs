//! What happened, for logs, metrics and notices. Events are derived from what was committed; losing one loses no fact.

use std::rc::Rc;

use serde::{Serialize, Serializer};
use serde_json::json;

use super::words::words;
use super::{
    AgentId, GateId, Period, RoleId, Station, Task, TaskId, Ticket, Timestamp, Visit, WorkflowName,
};

/// Something that a person, a log or a metric may want to know (spec 1, section 9). It serializes as its own fields in the event
/// stream; what is null there does not apply.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Event {
    /// A task came to its first gate.
    Created { to_gate: GateId },
    /// A hand-made task came to its first gate.
    Adopted { to_gate: GateId },
    /// An agent took a task.
    Claimed { gate: Station, agent: AgentId },
    /// A task was given to an agent.
    Assigned { gate: Station, agent: AgentId },
    /// An agent renewed its claim.
    Renewed {
        gate: Station,
        agent: AgentId,
        #[serde(skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// A task was given back.
    Released { gate: Station, agent: AgentId },
    /// A claim ran out that nobody renewed.
    Lapsed { gate: Station, agent: AgentId },
    /// A person holds a task where it is.
    Held {
        gate: GateId,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        holders: Vec<AgentId>,
        blockers: Vec<String>,
    },
    /// A blocked or held task was unblocked.
    Unblocked { gate: GateId },
    /// The rules changed, and another role, or other people, have the work. At a fork the role is the branches'.
    Rerouted { gate: GateId, role: Option<RoleId> },
    /// People changed what is theirs: by a command of that person or agent, or by hand.
    Edited {
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Somebody commented on the task.
    Commented { agent: Option<AgentId>, comment: String },
    /// A change that a commit had reverted by mistake was restored.
    Restored,
    /// A visit ended: a completion came, time ran out, or a person stepped in.
    Transition(#[serde(serialize_with = "transition")] Box<Visit>),
    /// A task was sent back: the entry, all that has to be mended, and who worked last where it goes.
    #[serde(serialize_with = "rejection")]
    Rejected { visit: Box<Visit>, blockers: Vec<String>, worker: Option<AgentId> },
    /// A visit took too long.
    TimedOut {
        gate: Station,
        role: Option<RoleId>,
        agent: Option<AgentId>,
        timeout: Option<Period>,
        escalate_to: Option<RoleId>,
    },
    /// The work went to a role that steps in.
    Escalated { gate: Station, escalate_to: RoleId, agent: Option<AgentId>, reason: Cause },
    /// A gate was passed over.
    #[serde(serialize_with = "skip")]
    Skipped { gate: GateId },
    /// A condition failed to evaluate.
    ConditionError(ConditionTrouble),
    /// A task was sent back to one gate too often.
    CircularLoop { gate: GateId, from_gate: GateId, loop_count: u32 },
    /// A task was sent back more often than its gate allows.
    Exhausted { gate: GateId, from_gate: GateId, loop_count: u32 },
    /// A task stands at a gate whose role has nobody.
    BlockedNoAgents { gate: GateId, role: RoleId },
    /// A task was taken from an agent that is not in the role that the gate needs.
    AssignmentError {
        gate: Station,
        expected_role: Option<RoleId>,
        #[serde(serialize_with = "joined")]
        actual_role: Vec<RoleId>,
        agent: AgentId,
    },
    /// A completion came for a visit that had ended.
    Conflict { gate: Station, winning_agent: Option<AgentId>, losing_agent: AgentId },
    /// A merge superseded an entry, since another one had ended the visit on the branch that it was merged into.
    #[serde(serialize_with = "superseded")]
    Superseded { ticket: Ticket, visit: Box<Visit>, by: Option<AgentId> },
    /// A task, or a branch of it, waits for something outside.
    Blocked { gate: Station, agent: Option<AgentId>, blockers: Vec<String> },
    /// A finished task was reopened.
    Reopened(#[serde(serialize_with = "transition")] Box<Visit>),
    /// A person moved a task against the workflow.
    Overridden {
        #[serde(flatten, serialize_with = "transition")]
        visit: Box<Visit>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        holders: Vec<AgentId>,
    },
    /// The gate of a task left its workflow.
    Moved {
        #[serde(flatten, serialize_with = "transition")]
        visit: Box<Visit>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        holders: Vec<AgentId>,
    },
    /// A task went through all its gates.
    Complete,
    /// A task ended without reaching its goal.
    Failed,
    /// A task was called off.
    Cancelled {
        #[serde(skip_serializing_if = "Vec::is_empty")]
        holders: Vec<AgentId>,
        reason: String,
    },
    /// The committed rules are invalid: what is wrong first, and how much is wrong.
    RulesInvalid { commit: String, error: String, count: usize },
    /// Messages were given up that nobody took.
    NoticesDropped { channel: String, count: usize, reason: String },
}

fn transition<S: Serializer>(visit: &Visit, serializer: S) -> Result<S::Ok, S::Error> {
    let mut fields = json!({
        "fromGate": visit.station(),
        "toGate": visit.to,
        "outcome": visit.outcome,
        "role": visit.role,
        "agent": visit.agent,
        "duration": visit.duration(),
        "summary": visit.summary,
    });
    if !visit.blockers.is_empty() {
        fields["blockers"] = json!(visit.blockers);
    }
    fields["retry"] = json!(visit.retry);
    fields.serialize(serializer)
}

#[expect(clippy::ref_option, reason = "serde's signature")]
fn rejection<S: Serializer>(
    visit: &Visit,
    blockers: &[String],
    worker: &Option<AgentId>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let fields = json!({
        "gate": visit.station(),
        "targetGate": visit.to,
        "agent": visit.agent,
        "blockers": blockers,
        "rejectionNotes": visit.rejection_notes,
        "duration": visit.duration(),
        "worker": worker,
    });
    fields.serialize(serializer)
}

#[expect(clippy::ref_option, reason = "serde's signature")]
fn superseded<S: Serializer>(
    ticket: &Ticket,
    visit: &Visit,
    by: &Option<AgentId>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let fields = json!({
        "gate": visit.station(),
        "agent": visit.agent,
        "outcome": visit.outcome,
        "completion": visit.completion.as_ref().map(|stamp| &stamp.id),
        "ticket": ticket,
        "by": by,
    });
    fields.serialize(serializer)
}

fn skip<S: Serializer>(gate: &GateId, serializer: S) -> Result<S::Ok, S::Error> {
    json!({"gate": gate, "reason": "condition_false"}).serialize(serializer)
}

fn joined<S: Serializer>(roles: &[RoleId], serializer: S) -> Result<S::Ok, S::Error> {
    let names: Vec<&str> = roles.iter().map(RoleId::as_str).collect();
    names.join(", ").serialize(serializer)
}

words!(
    /// Why somebody steps in.
    Cause, "a reason to step in", {
        /// A visit took too long.
        Timeout = "timeout",
        /// The task was sent back too often.
        Exhausted = "exhausted",
    }
);

/// A condition that failed to evaluate (spec 1, 9.8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConditionTrouble {
    pub gate: GateId,
    pub expression: String,
    pub error: String,
    pub action: TroubleAction,
}

/// What happens at a gate whose condition failed to evaluate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TroubleAction {
    /// The task passes it over.
    Skip,
    /// The task comes to it all the same.
    Enter,
    /// The task is blocked there: the gate is to decide by its condition.
    Block,
}

/// An event with when it happened, and to what.
#[derive(Debug, Clone, PartialEq)]
pub struct Occurrence {
    pub at: Timestamp,
    /// The project's name.
    pub project: Option<String>,
    /// The task; absent where it is about none.
    pub subject: Option<EventTask>,
    pub event: Event,
}

/// The task that an event is about.
#[derive(Debug, Clone, PartialEq)]
pub struct EventTask {
    pub task: TaskId,
    pub title: String,
    pub workflow: WorkflowName,
}

/// A reader's relation to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeReader {
    /// Somebody who keeps an eye on the project.
    Anybody,
    /// The agent that it happened to.
    Affected,
    /// Whose work it is now.
    Successor,
}

words!(
    /// How bad an event is.
    Level, "a level", {
        /// Normal progress.
        Info = "info",
        /// Worth a look.
        Warn = "warn",
        /// A person is needed.
        Error = "error",
    }
);

words!(
    /// The name of an event.
    EventKind, "an event", {
        TaskCreated = "task_created",
        TaskAdopted = "task_adopted",
        TaskClaimed = "task_claimed",
        TaskAssigned = "task_assigned",
        TaskRenewed = "task_renewed",
        TaskReleased = "task_released",
        TaskLapsed = "task_lapsed",
        TaskHeld = "task_held",
        TaskUnblocked = "task_unblocked",
        TaskEdited = "task_edited",
        TaskCommented = "task_commented",
        TaskRestored = "task_restored",
        TaskBlocked = "task_blocked",
        TaskReopened = "task_reopened",
        TaskOverridden = "task_overridden",
        TaskMoved = "task_moved",
        TaskRerouted = "task_rerouted",
        TaskComplete = "task_complete",
        TaskFailed = "task_failed",
        TaskCancelled = "task_cancelled",
        GateTransition = "gate_transition",
        GateRejection = "gate_rejection",
        GateTimeout = "gate_timeout",
        GateEscalation = "gate_escalation",
        GateSkip = "gate_skip",
        GateConditionError = "gate_condition_error",
        GateCircularLoop = "gate_circular_loop",
        GateExhausted = "gate_exhausted",
        GateBlockedNoAgents = "gate_blocked_no_agents",
        GateAssignmentError = "gate_assignment_error",
        GateConflict = "gate_conflict",
        CompletionSuperseded = "completion_superseded",
        WorkflowConfigInvalid = "workflow_config_invalid",
        NoticesDropped = "notices_dropped",
    }
);

impl EventKind {
    /// Returns how bad it is (spec 1, section 9).
    pub const fn level(self) -> Level {
        match self {
            Self::GateBlockedNoAgents
            | Self::GateCircularLoop
            | Self::GateExhausted
            | Self::GateAssignmentError
            | Self::WorkflowConfigInvalid
            | Self::NoticesDropped => Level::Error,
            Self::GateConditionError
            | Self::GateTimeout
            | Self::GateEscalation
            | Self::GateConflict
            | Self::CompletionSuperseded
            | Self::TaskBlocked
            | Self::TaskHeld
            | Self::TaskLapsed
            | Self::TaskFailed => Level::Warn,
            _ => Level::Info,
        }
    }
}

impl Event {
    /// Returns when it happened, where it says so itself: what came in one commit need not have happened at one time.
    pub fn moment(&self) -> Option<Timestamp> {
        match self {
            Self::Transition(visit)
            | Self::Reopened(visit)
            | Self::Rejected { visit, .. }
            | Self::Overridden { visit, .. }
            | Self::Moved { visit, .. } => Some(visit.exited),
            _ => None,
        }
    }

    /// Returns its name.
    pub const fn kind(&self) -> EventKind {
        match self {
            Self::Created { .. } => EventKind::TaskCreated,
            Self::Adopted { .. } => EventKind::TaskAdopted,
            Self::Claimed { .. } => EventKind::TaskClaimed,
            Self::Assigned { .. } => EventKind::TaskAssigned,
            Self::Renewed { .. } => EventKind::TaskRenewed,
            Self::Released { .. } => EventKind::TaskReleased,
            Self::Lapsed { .. } => EventKind::TaskLapsed,
            Self::Held { .. } => EventKind::TaskHeld,
            Self::Unblocked { .. } => EventKind::TaskUnblocked,
            Self::Rerouted { .. } => EventKind::TaskRerouted,
            Self::Edited { .. } => EventKind::TaskEdited,
            Self::Commented { .. } => EventKind::TaskCommented,
            Self::Restored => EventKind::TaskRestored,
            Self::Transition(_) => EventKind::GateTransition,
            Self::Rejected { .. } => EventKind::GateRejection,
            Self::TimedOut { .. } => EventKind::GateTimeout,
            Self::Escalated { .. } => EventKind::GateEscalation,
            Self::Skipped { .. } => EventKind::GateSkip,
            Self::ConditionError(_) => EventKind::GateConditionError,
            Self::CircularLoop { .. } => EventKind::GateCircularLoop,
            Self::Exhausted { .. } => EventKind::GateExhausted,
            Self::BlockedNoAgents { .. } => EventKind::GateBlockedNoAgents,
            Self::AssignmentError { .. } => EventKind::GateAssignmentError,
            Self::Conflict { .. } => EventKind::GateConflict,
            Self::Superseded { .. } => EventKind::CompletionSuperseded,
            Self::Blocked { .. } => EventKind::TaskBlocked,
            Self::Reopened(_) => EventKind::TaskReopened,
            Self::Overridden { .. } => EventKind::TaskOverridden,
            Self::Moved { .. } => EventKind::TaskMoved,
            Self::Complete => EventKind::TaskComplete,
            Self::Failed => EventKind::TaskFailed,
            Self::Cancelled { .. } => EventKind::TaskCancelled,
            Self::RulesInvalid { .. } => EventKind::WorkflowConfigInvalid,
            Self::NoticesDropped { .. } => EventKind::NoticesDropped,
        }
    }
}

/// What happened in one change of a task or of the rules.
pub(crate) struct ChangeEvents {
    /// Identifies the change.
    pub mark: String,
    /// When, as far as an event does not say it itself.
    pub at: Timestamp,
    /// Sorts changes of the same second.
    pub later: usize,
    /// What the project was called.
    pub project: Option<String>,
    /// The task after it.
    pub task: Option<Rc<Task>>,
    /// In order.
    pub events: Vec<Event>,
}

impl ChangeEvents {
    /// Returns one of the events with when it happened, and to what.
    pub(crate) fn occurrence(&self, event: &Event) -> Occurrence {
        Occurrence {
            at: event.moment().unwrap_or(self.at),
            project: self.project.clone(),
            subject: self.task.as_ref().map(|task| EventTask {
                task: task.id.clone(),
                title: task.title.clone(),
                workflow: task.routing.workflow.clone(),
            }),
            event: event.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::EventId;

    #[test]
    fn what_is_no_id_is_none() {
        let id = EventId::of("conflict AOF-abc");
        assert_eq!(id.as_str().parse(), Ok(id));
        let digits = "0123456789abcdef0123456789abcdef";
        for text in [
            "",
            "aof_",
            "../../x",
            digits,
            &format!("aof_{}", &digits[1..]),
            &format!("aof_{digits}0"),
            &format!("aof_{}/", &digits[1..]),
            &format!("aof_{}", digits.to_uppercase()),
            &format!("AOF_{digits}"),
        ] {
            assert!(text.parse::<EventId>().is_err(), "{text}");
        }
    }
}
