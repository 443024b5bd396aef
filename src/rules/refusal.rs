//! What the rules say no to, and how they teach: what is wrong, why, the fix, an example (spec 1, section 9).
//!
//! A refusal changes nothing. Its code and fields are stable; its sentences are for reading.

pub(crate) mod example;
pub(crate) mod fields;
pub(crate) mod fix;
pub(crate) mod problem;

use serde_json::Value;

use super::outputs::Problem;
use super::signing::verify::Flaw;
use crate::domain::{
    AgentId, CompletionId, GateId, Identity, Outcome, Permission, PublicKey, RoleId, Station,
    Status, TaskId, Ticket, Timestamp, Visit, WorkflowName,
};

/// Why an act was not carried out.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// No outcome was given at a gate that wants one.
    MissingOutcome { gate: Station, valid: Vec<Outcome> },
    /// The outcome is no word that this gate knows (9.1).
    InvalidOutcome { given: String, gate: Station, valid: Vec<Outcome> },
    /// The summary is missing or blank (9.2).
    MissingSummary { outcome: Outcome },
    /// `needs_review` and `blocked` want blockers (9.3).
    MissingBlockers { outcome: Outcome },
    /// The list of blockers is there and says nothing (9.4).
    EmptyBlockers { outcome: Outcome },
    /// A text is longer than a history should carry.
    TooLong { field: &'static str, bytes: usize, limit: usize },
    /// The outcome is said twice, and not the same.
    ContradictoryStatus { outcome: String, status: String },
    /// The outcome is not what the completion's own text says.
    ContradictoryVerdict { gate: Station, outcome: Outcome, verdict: Outcome },
    /// What is handed on is not what the gate declares.
    InvalidOutputs { gate: Station, outcome: Outcome, problems: Vec<Problem>, example: Box<Value> },
    /// A task of the workflow cannot begin without these.
    MissingInput { workflow: WorkflowName, missing: Vec<String> },
    /// Tasks of the workflow do not begin with these.
    UnknownInput { workflow: WorkflowName, given: Vec<String>, known: Vec<String> },
    /// The agent has another task (9.6).
    WrongTask {
        assigned: TaskId,
        attempted: TaskId,
        /// Why it could not complete the other one without its own either.
        role: Option<Box<Refusal>>,
    },
    /// Somebody else has claimed this task.
    AssignedToAnother { ticket: Ticket, holder: AgentId, agent: AgentId },
    /// The agent had claimed this task and let the claim end; somebody else has it now.
    ClaimLost { ticket: Ticket, holder: AgentId, agent: AgentId },
    /// A person holds the task where it is.
    Held { task: TaskId, reasons: Vec<String> },
    /// Nothing has run out there.
    NotDue { ticket: Ticket, at: Option<Timestamp> },
    /// The agent is not in the gate's role (9.13).
    WrongRole {
        task: TaskId,
        gate: Station,
        role: RoleId,
        agent: AgentId,
        roles: Vec<RoleId>,
        members: Vec<AgentId>,
    },
    /// The gate does not send back (9.10).
    RejectNotAllowed { gate: Station, valid: Vec<Outcome> },
    /// The gate does not let itself be skipped.
    SkipNotAllowed { gate: Station, human: bool, valid: Vec<Outcome> },
    /// The gate is for people (9.11).
    HumanRequired { gate: Station, role: RoleId, agent: AgentId, people: Vec<AgentId> },
    /// The task was sent back too often; a person has to look (9.9).
    CircularLoop { task: TaskId, gate: GateId, count: u32 },
    /// The visit that was meant has ended (9.14).
    VisitEnded {
        ticket: Ticket,
        gate: Station,
        agent: Option<AgentId>,
        winner: Option<AgentId>,
        outcome: String,
        at: Timestamp,
    },
    /// No such visit has begun.
    VisitAhead { task: TaskId, visit: usize, current: usize },
    /// The task has ended.
    Finished { task: TaskId, status: Status, at: Timestamp },
    /// The completion's id stands in the history with another content.
    CompletionReused { id: CompletionId, task: TaskId, visit: usize },
    /// The task does not stand at a gate yet.
    NotAdopted { task: TaskId },
    /// The task's workflow is not in force.
    UnknownWorkflow { task: TaskId, workflow: String, known: Vec<String> },
    /// The task's gate is not in its workflow any more.
    GateGone { task: TaskId, gate: GateId, known: Vec<GateId> },
    /// The gate that was named is not in the workflow.
    UnknownGate { given: GateId, known: Vec<GateId> },
    /// The workflow is for others to start.
    NotVisible { workflow: WorkflowName, agent: AgentId, viewers: Vec<String> },
    /// No gate of the workflow applies to the task.
    NoGateApplies { workflow: String },
    /// Nobody has claimed the task.
    NotClaimed { task: TaskId },
    /// The gate decides by itself: there is nothing for an agent to say.
    NobodyWorksHere { task: TaskId, gate: GateId },
    /// The gate does not decide by itself.
    NotAutomatic { task: TaskId, gate: GateId },
    /// The agent did the work that this gate is to be kept apart from.
    NotSeparate { task: TaskId, gate: Station, agent: AgentId, by: Identity, worked_at: GateId },
    /// The task is not blocked.
    NotBlocked { task: TaskId, status: Status },
    /// The task has not ended.
    NotFinished { task: TaskId, gate: GateId },
    /// The act wants a reason.
    MissingReason { act: &'static str },
    /// The act is for people, or for agents that org.yaml allows it.
    NotPermitted { agent: AgentId, act: Permission },
    /// The task is blocked and cannot be claimed.
    Blocked { ticket: Ticket, blockers: Vec<String> },
    /// The task stands at a fork, and it cannot be told which branch is meant.
    BranchNeeded { task: TaskId, gate: GateId, open: Vec<(Ticket, RoleId)> },
    /// The task stands at a fork, and none of the open branches is the agent's.
    NotYourBranch { task: TaskId, gate: GateId, agent: AgentId, open: Vec<(Ticket, RoleId)> },
    /// The branch that was named is not open.
    NoSuchBranch { ticket: Ticket, gate: GateId, open: Vec<(Ticket, RoleId)> },
    /// A branch was named where the whole task is meant.
    NotOfABranch { ticket: Ticket, act: &'static str },
    /// The gate became a fork while the task stood there.
    BranchesNotOpen { task: TaskId, gate: GateId },
    /// The completion is not signed as org.yaml wants it.
    Signature(Box<ToSign>),
}

/// What is to be signed of a completion, by whom, and what is wrong with the signature that it has.
#[derive(Debug, Clone, PartialEq)]
pub struct ToSign {
    /// What is wrong.
    pub flaw: Flaw,
    /// The visit that it ends.
    pub ticket: Ticket,
    /// Who says it.
    pub agent: AgentId,
    /// Its id, which is signed with it.
    pub completion: CompletionId,
    /// The keys that it may be signed with.
    pub keys: Vec<PublicKey>,
    /// What is signed.
    pub text: String,
}

/// Which family a refusal belongs to: it decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The rules say no.
    Refused,
    /// The task has moved on.
    Conflict,
}

impl Refusal {
    /// Returns the conflict with the entry that ended what the ticket names.
    pub(crate) fn visit_ended(ticket: &Ticket, entry: &Visit, agent: Option<&AgentId>) -> Self {
        Self::VisitEnded {
            ticket: ticket.clone(),
            gate: entry.station(),
            agent: agent.cloned(),
            winner: entry.agent.clone(),
            outcome: entry.outcome.to_string(),
            at: entry.exited,
        }
    }

    /// Returns the family.
    pub const fn kind(&self) -> RefusalKind {
        match self {
            Self::VisitEnded { .. }
            | Self::VisitAhead { .. }
            | Self::Finished { .. }
            | Self::ClaimLost { .. }
            | Self::NotDue { .. } => RefusalKind::Conflict,
            _ => RefusalKind::Refused,
        }
    }

    /// Returns the code that stands for the refusal in JSON.
    pub fn code(&self) -> &'static str {
        match self {
            Self::MissingOutcome { .. } => "missing_outcome",
            Self::InvalidOutcome { .. } => "invalid_outcome",
            Self::MissingSummary { .. } => "missing_summary",
            Self::MissingBlockers { .. } => "missing_blockers",
            Self::EmptyBlockers { .. } => "empty_blockers",
            Self::TooLong { .. } => "too_long",
            Self::ContradictoryStatus { .. } => "contradictory_status",
            Self::ContradictoryVerdict { .. } => "contradictory_verdict",
            Self::InvalidOutputs { problems, .. } => of_problems(problems),
            Self::MissingInput { .. } => "missing_input",
            Self::UnknownInput { .. } => "unknown_input",
            Self::WrongTask { .. } => "wrong_task",
            Self::AssignedToAnother { .. } => "assigned_to_another",
            Self::ClaimLost { .. } => "claim_lost",
            Self::Held { .. } => "task_held",
            Self::NotDue { .. } => "not_due",
            Self::WrongRole { .. } => "wrong_role",
            Self::RejectNotAllowed { .. } => "reject_not_allowed",
            Self::SkipNotAllowed { .. } => "skip_not_allowed",
            Self::HumanRequired { .. } => "human_required",
            Self::CircularLoop { .. } => "circular_loop",
            Self::VisitEnded { .. } => "visit_ended",
            Self::VisitAhead { .. } => "visit_ahead",
            Self::Finished { .. } => "task_finished",
            Self::CompletionReused { .. } => "completion_id_reused",
            Self::NotAdopted { .. } => "not_adopted",
            Self::UnknownWorkflow { .. } => "unknown_workflow",
            Self::GateGone { .. } => "gate_gone",
            Self::UnknownGate { .. } => "unknown_gate",
            Self::NotVisible { .. } => "not_visible",
            Self::NoGateApplies { .. } => "no_gate_applies",
            Self::NotClaimed { .. } => "not_claimed",
            Self::NobodyWorksHere { .. } => "nobody_works_here",
            Self::NotAutomatic { .. } => "not_automatic",
            Self::NotSeparate { .. } => "not_separate",
            Self::NotBlocked { .. } => "not_blocked",
            Self::NotFinished { .. } => "not_finished",
            Self::MissingReason { .. } => "missing_reason",
            Self::NotPermitted { .. } => "not_permitted",
            Self::Blocked { .. } => "task_blocked",
            Self::BranchNeeded { .. } => "branch_needed",
            Self::NotYourBranch { .. } => "not_your_branch",
            Self::NoSuchBranch { .. } => "no_such_branch",
            Self::NotOfABranch { .. } => "not_of_a_branch",
            Self::BranchesNotOpen { .. } => "branches_not_open",
            Self::Signature(wanted) => match wanted.flaw {
                Flaw::Missing => "signature_required",
                Flaw::OtherUse { .. } | Flaw::OtherKey { .. } | Flaw::OtherText => "bad_signature",
                Flaw::NoKey { .. } => "no_signing_key",
            },
        }
    }

    /// Returns the whole text: the problem, the fix, and the example if there is one.
    pub fn message(&self) -> String {
        let mut text = format!("{}\n\n{}", self.problem(), self.fix());
        if let Some(example) = self.example() {
            text.push_str("\n\nExample:\n");
            text.push_str(&serde_json::to_string_pretty(&example).unwrap_or_default());
        }
        text
    }
}

/// Returns the code of outputs that are wrong in one way, or in several.
fn of_problems(problems: &[Problem]) -> &'static str {
    let all = |code: &str| problems.iter().all(|problem| problem.code() == code);
    ["output_too_large", "protected_output"]
        .into_iter()
        .find(|code| all(code))
        .unwrap_or("invalid_outputs")
}
