//! Events, for logs, metrics and notices. They are derived from commits; losing one loses no fact.

use std::rc::Rc;

use serde::{Serialize, Serializer};
use serde_json::json;

use super::words::words;
use super::{
    AgentId, Blocker, GateId, Period, RoleId, Station, Task, TaskId, Ticket, Timestamp, Visit,
    WorkflowName,
};

/// Something that a person, a log or a metric may want to know (spec 1, section 9). It serializes as its own fields in the event
/// stream; null means that a field does not apply.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Event {
    /// A task entered its first gate.
    Created { to_gate: GateId },
    /// A hand-made task entered its first gate.
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
    /// A claim expired because its holder did not renew it.
    Lapsed { gate: Station, agent: AgentId },
    /// A person put a task on hold at its gate.
    Held {
        gate: GateId,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        holders: Vec<AgentId>,
        blockers: Vec<Blocker>,
    },
    /// A blocked or held task was unblocked.
    Unblocked { gate: GateId },
    /// The rules changed, and the work now belongs to another role or to other people. At a fork the role is the branches'.
    Rerouted { gate: GateId, role: Option<RoleId> },
    /// Fields that belong to people changed: by a command of that person or agent, or by hand.
    Edited {
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A person or an agent commented on the task.
    Commented { agent: Option<AgentId>, comment: String },
    /// A change that a commit had reverted by mistake was restored.
    Restored,
    /// A visit ended: by a completion, a timeout, or a person.
    Transition(#[serde(serialize_with = "transition")] Box<Visit>),
    /// A task was sent back: the entry, everything that must be fixed, and the last worker at the gate it returns to.
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
    /// The work moved to the role that steps in.
    Escalated { gate: Station, escalate_to: RoleId, agent: Option<AgentId>, reason: Cause },
    /// A gate was skipped.
    #[serde(serialize_with = "skip")]
    Skipped { gate: GateId },
    /// A condition failed to evaluate.
    ConditionError(ConditionTrouble),
    /// A task was sent back to one gate too often.
    CircularLoop { gate: GateId, from_gate: GateId, loop_count: u32 },
    /// A task was sent back more often than its gate allows.
    Exhausted { gate: GateId, from_gate: GateId, loop_count: u32 },
    /// A task is at a gate whose role has no agents.
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
    /// A task, or a branch of it, waits for something external.
    Blocked { gate: Station, agent: Option<AgentId>, blockers: Vec<Blocker> },
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
    /// A task passed all its gates.
    Complete,
    /// A task ended without reaching its goal.
    Failed,
    /// A task was cancelled.
    Cancelled {
        #[serde(skip_serializing_if = "Vec::is_empty")]
        holders: Vec<AgentId>,
        reason: String,
    },
    /// The committed rules are invalid: the first error, and the number of errors.
    RulesInvalid { commit: String, error: String, count: usize },
    /// Messages were dropped because their channel did not take them.
    NoticesDropped { channel: String, count: usize, reason: String },
}

fn transition<S: Serializer>(visit: &Visit, serializer: S) -> Result<S::Ok, S::Error> {
    // Gate and branch are the station; entered and exited are the duration.
    let Visit {
        gate: _,
        branch: _,
        verdict: _,
        join: _,
        unfinished: _,
        item: _,
        role,
        agent,
        entered: _,
        exited: _,
        overdue: _,
        outcome,
        summary,
        blockers,
        rejection_notes: _,
        to,
        to_item: _,
        round: _,
        skipped: _,
        cleared: _,
        escalated_to: _,
        retry,
        outputs: _,
        metadata: _,
        children: _,
        checks: _,
        work: _,
        landed: _,
        workflow: _,
        completion: _,
        signature: _,
    } = visit;
    let mut fields = json!({
        "fromGate": visit.station(),
        "toGate": to,
        "outcome": outcome,
        "role": role,
        "agent": agent,
        "duration": visit.duration(),
        "summary": summary,
    });
    if !blockers.is_empty() {
        fields["blockers"] = json!(blockers);
    }
    fields["retry"] = json!(retry);
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
    /// The reason why another role or a person steps in.
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

/// The consequence of a condition that failed to evaluate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TroubleAction {
    /// The task skips the gate.
    Skip,
    /// The task enters the gate all the same.
    Enter,
    /// The task is blocked at the gate, since the gate decides by its condition.
    Block,
}

/// An event with its time and its subject.
#[derive(Debug, Clone, PartialEq)]
pub struct Occurrence {
    pub at: Timestamp,
    /// The project's name.
    pub project: Option<String>,
    /// The task; absent if the event is about no task.
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
    /// A person or agent that follows the whole project.
    Anybody,
    /// The agent that the event happened to.
    Affected,
    /// The agent that has the work now.
    Successor,
}

words!(
    /// The severity of an event.
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
    /// Returns the severity of such an event (spec 1, section 9).
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
    /// Returns the time of the event, if it records one: events of one commit may have happened at different times.
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

    /// Returns the event's name.
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

/// The events of one change of a task or of the rules.
pub struct ChangeEvents {
    /// Identifies the change.
    pub mark: String,
    /// The time of events that record none themselves.
    pub at: Timestamp,
    /// Sorts changes of the same second.
    pub later: usize,
    /// The project's name then.
    pub project: Option<String>,
    /// The task after the change.
    pub task: Option<Rc<Task>>,
    /// The events, in order.
    pub events: Vec<Event>,
}

impl ChangeEvents {
    /// Returns one of the events with its time and its subject.
    pub fn occurrence(&self, event: &Event) -> Occurrence {
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
    use crate::EventId;

    #[test]
    fn an_invalid_id_is_none() {
        let id = EventId::new("conflict AOF-abc");
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
