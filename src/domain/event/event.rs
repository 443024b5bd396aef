//! What happened, for logs, metrics and notices. Events are derived from what was committed; losing one loses no fact.

use crate::domain::values::word_enum::words;
use crate::domain::{
    AgentId, GateId, Period, RoleId, Station, TaskId, Ticket, Timestamp, Visit, WorkflowName,
};

/// Something that a person, a log or a metric may want to know (spec 1, section 9).
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A task came to its first gate.
    Created {
        /// The gate.
        gate: GateId,
    },
    /// So did one that was written by hand.
    Adopted {
        /// The gate.
        gate: GateId,
    },
    /// An agent took a task.
    Claimed {
        /// Where.
        at: Station,
        /// Who.
        agent: AgentId,
    },
    /// A task was given to an agent.
    Assigned {
        /// Where.
        at: Station,
        /// To whom.
        agent: AgentId,
    },
    /// An agent said that its work goes on.
    Renewed {
        /// Where.
        at: Station,
        /// Who.
        agent: AgentId,
        /// How far it is.
        note: String,
    },
    /// A task was given back.
    Released {
        /// Where.
        at: Station,
        /// Who had it.
        agent: AgentId,
    },
    /// A claim ran out that nobody renewed.
    Lapsed {
        /// Where.
        at: Station,
        /// Who had it.
        agent: AgentId,
    },
    /// A person holds a task where it is.
    Held {
        /// Where.
        gate: GateId,
        /// Who works at it, or at branches of it.
        holders: Vec<AgentId>,
        /// Why.
        reasons: Vec<String>,
    },
    /// A blocked or held task was set going again.
    Unblocked {
        /// Where.
        gate: GateId,
    },
    /// The rules changed, and another role, or other people, have the work.
    Rerouted {
        /// Where.
        gate: GateId,
        /// The role; absent at a fork, where it is the branches'.
        role: Option<RoleId>,
    },
    /// People changed what is theirs.
    Edited,
    /// Somebody wrote a comment.
    Commented {
        /// Who, where it was an agent.
        agent: Option<AgentId>,
        /// What.
        text: String,
    },
    /// What a commit took back by mistake was brought back.
    Restored,
    /// A visit ended: a completion came, time ran out, or a person stepped in.
    Transition(Box<Visit>),
    /// A task was sent back.
    Rejected {
        /// The entry of whoever sent it back.
        visit: Box<Visit>,
        /// What has to be mended, by all who say so.
        blockers: Vec<String>,
        /// Who worked last where it goes.
        worker: Option<AgentId>,
    },
    /// A visit took too long.
    TimedOut {
        /// Where.
        at: Station,
        /// Whose work it is.
        role: Option<RoleId>,
        /// Who had it.
        agent: Option<AgentId>,
        /// How long it may take.
        limit: Option<Period>,
        /// Who steps in.
        escalate_to: Option<RoleId>,
    },
    /// The work went to a role that steps in.
    Escalated {
        /// Where.
        at: Station,
        /// The role.
        role: RoleId,
        /// Who had it.
        agent: Option<AgentId>,
        /// Why.
        cause: Cause,
    },
    /// A gate was passed over.
    Skipped {
        /// The gate.
        gate: GateId,
    },
    /// A condition failed to evaluate.
    ConditionError(ConditionTrouble),
    /// A task was sent back to one gate too often.
    CircularLoop {
        /// The gate that it was sent back to.
        gate: GateId,
        /// The gate that sent it.
        from: GateId,
        /// How often it was sent back there.
        count: u32,
    },
    /// A task was sent back more often than its gate allows.
    Exhausted {
        /// The gate that it was sent back to.
        gate: GateId,
        /// The gate that sent it.
        from: GateId,
        /// How often it was sent back there.
        count: u32,
    },
    /// A task stands at a gate whose role has nobody.
    BlockedNoAgents {
        /// The gate.
        gate: GateId,
        /// The role.
        role: RoleId,
    },
    /// A task was taken from an agent that is not in the role it takes.
    AssignmentError {
        /// Where.
        at: Station,
        /// Who had it.
        agent: AgentId,
        /// The role that it takes.
        expected: Option<RoleId>,
        /// The roles that the agent is in.
        actual: Vec<RoleId>,
    },
    /// A completion came for a visit that had ended.
    Conflict {
        /// The gate of that visit.
        gate: Station,
        /// Whose completion counted.
        winner: Option<AgentId>,
        /// Whose did not.
        loser: AgentId,
    },
    /// A merge superseded what ended a visit: on the branch that it was merged into, something else had.
    Superseded {
        /// The visit.
        ticket: Ticket,
        /// The entry that counts no more.
        visit: Box<Visit>,
        /// Who ended the visit that stands in its place.
        by: Option<AgentId>,
    },
    /// A task, or a branch of it, waits for something outside.
    Blocked {
        /// Where.
        at: Station,
        /// Who said so.
        agent: Option<AgentId>,
        /// For what.
        blockers: Vec<String>,
    },
    /// A finished task was taken up again.
    Reopened(Box<Visit>),
    /// A person moved a task against the workflow.
    Overridden {
        /// The entry.
        visit: Box<Visit>,
        /// Who had the task, or branches of it.
        holders: Vec<AgentId>,
    },
    /// The gate of a task left its workflow.
    Moved {
        /// The entry.
        visit: Box<Visit>,
        /// Who had the task, or branches of it.
        holders: Vec<AgentId>,
    },
    /// A task went through all its gates.
    Complete,
    /// A task ended without reaching its goal.
    Failed,
    /// A task was called off.
    Cancelled {
        /// Why.
        reason: String,
        /// Who had the task, or branches of it.
        holders: Vec<AgentId>,
    },
    /// The committed rules are invalid.
    RulesInvalid {
        /// The commit that has them.
        commit: String,
        /// What is wrong first of all, with its place.
        problem: String,
        /// How much is wrong.
        count: usize,
    },
    /// Messages were given up that nobody took.
    NoticesDropped {
        /// Whose they were.
        channel: String,
        /// How many.
        count: usize,
        /// Why.
        reason: String,
    },
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionTrouble {
    /// The gate whose condition it is.
    pub gate: GateId,
    /// The condition.
    pub expression: String,
    /// What went wrong.
    pub error: String,
    /// Whether the gate was entered all the same.
    pub entered: bool,
}

/// An event with when it happened, and to what.
#[derive(Debug, Clone, PartialEq)]
pub struct Occurrence {
    /// When.
    pub at: Timestamp,
    /// What the project is called.
    pub project: Option<String>,
    /// The task; absent where it is about none.
    pub subject: Option<Subject>,
    /// What.
    pub event: Event,
}

/// The task that an event is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// Its id.
    pub task: TaskId,
    /// What it is called.
    pub title: String,
    /// The workflow that it follows.
    pub workflow: WorkflowName,
}

/// How whoever reads of an event stands to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
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
        /// It goes its way.
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
        /// A task came to its first gate.
        TaskCreated = "task_created",
        /// So did one that was written by hand.
        TaskAdopted = "task_adopted",
        /// An agent took a task.
        TaskClaimed = "task_claimed",
        /// A task was given to an agent.
        TaskAssigned = "task_assigned",
        /// An agent said that its work goes on.
        TaskRenewed = "task_renewed",
        /// A task was given back.
        TaskReleased = "task_released",
        /// A claim ran out.
        TaskLapsed = "task_lapsed",
        /// A person holds a task.
        TaskHeld = "task_held",
        /// A task was set going again.
        TaskUnblocked = "task_unblocked",
        /// People changed a task.
        TaskEdited = "task_edited",
        /// Somebody wrote a comment.
        TaskCommented = "task_commented",
        /// What a commit took back was brought back.
        TaskRestored = "task_restored",
        /// A task waits for something outside.
        TaskBlocked = "task_blocked",
        /// A task was taken up again.
        TaskReopened = "task_reopened",
        /// A person moved a task.
        TaskOverridden = "task_overridden",
        /// A task's gate left the workflow.
        TaskMoved = "task_moved",
        /// Other people have the work since the rules changed.
        TaskRerouted = "task_rerouted",
        /// A task is done.
        TaskComplete = "task_complete",
        /// A task has failed.
        TaskFailed = "task_failed",
        /// A task was called off.
        TaskCancelled = "task_cancelled",
        /// A visit ended.
        GateTransition = "gate_transition",
        /// A task was sent back.
        GateRejection = "gate_rejection",
        /// A visit took too long.
        GateTimeout = "gate_timeout",
        /// The work went to a role that steps in.
        GateEscalation = "gate_escalation",
        /// A gate was passed over.
        GateSkip = "gate_skip",
        /// A condition failed.
        GateConditionError = "gate_condition_error",
        /// A task was sent back too often.
        GateCircularLoop = "gate_circular_loop",
        /// A task was sent back more often than its gate allows.
        GateExhausted = "gate_exhausted",
        /// Nobody is in the gate's role.
        GateBlockedNoAgents = "gate_blocked_no_agents",
        /// A task was with somebody who is not in its role.
        GateAssignmentError = "gate_assignment_error",
        /// A completion came too late.
        GateConflict = "gate_conflict",
        /// A merge superseded a completion.
        CompletionSuperseded = "completion_superseded",
        /// The committed rules are invalid.
        WorkflowConfigInvalid = "workflow_config_invalid",
        /// Messages were given up.
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
            Self::Edited => EventKind::TaskEdited,
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
