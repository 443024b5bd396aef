//! What a refusal says to programs beside its code and message (spec 1, section 9).

use serde_json::{Value, json};

use super::Refusal;
use crate::domain::{RoleId, Ticket};
use crate::rules::signing::verify::NAMESPACE;

impl Refusal {
    /// Returns the fields beside code and message (spec 1, section 9).
    #[expect(clippy::too_many_lines, reason = "one arm a refusal")]
    pub fn fields(&self) -> Vec<(&'static str, Value)> {
        match self {
            Self::MissingOutcome { gate, valid } => {
                vec![
                    ("requiredField", json!("outcome")),
                    ("gate", text(gate)),
                    ("validOutcomes", texts(valid)),
                ]
            }
            Self::InvalidOutcome { gate, valid, .. } => {
                vec![("validOutcomes", texts(valid)), ("gate", text(gate))]
            }
            Self::MissingSummary { .. } => vec![("requiredField", json!("summary"))],
            Self::MissingBlockers { .. } | Self::EmptyBlockers { .. } => {
                vec![("requiredField", json!("blockers"))]
            }
            Self::TooLong { field, bytes, limit } => {
                vec![("field", json!(field)), ("bytes", json!(bytes)), ("limit", json!(limit))]
            }
            Self::ContradictoryStatus { outcome, status } => {
                vec![("outcome", json!(outcome)), ("status", json!(status))]
            }
            Self::ContradictoryVerdict { gate, outcome, verdict } => {
                vec![("gate", text(gate)), ("outcome", text(outcome)), ("verdict", text(verdict))]
            }
            Self::InvalidOutputs { gate, outcome, problems, .. } => vec![
                ("gate", text(gate)),
                ("outcome", text(outcome)),
                (
                    "problems",
                    problems
                        .iter()
                        .map(crate::rules::outputs::problem::Problem::to_value)
                        .collect(),
                ),
            ],
            Self::MissingInput { workflow, missing } => {
                vec![
                    ("workflow", text(workflow)),
                    ("missing", texts(missing)),
                    ("requiredField", json!("context")),
                ]
            }
            Self::UnknownInput { workflow, given, known } => {
                vec![
                    ("workflow", text(workflow)),
                    ("unknown", texts(given)),
                    ("knownInputs", texts(known)),
                ]
            }
            Self::WrongTask { assigned, attempted, role } => {
                let mut fields =
                    vec![("assignedTask", text(assigned)), ("attemptedTask", text(attempted))];
                if let Some(Self::WrongRole { gate, role, .. }) = role.as_deref() {
                    fields.extend([("gate", text(gate)), ("expectedRole", text(role))]);
                }
                fields
            }
            Self::AssignedToAnother { ticket, holder, agent }
            | Self::ClaimLost { ticket, holder, agent } => {
                vec![
                    ("task", text(ticket)),
                    ("assignedAgent", text(holder)),
                    ("yourAgentId", text(agent)),
                ]
            }
            Self::WrongRole { task, gate, role, agent, roles, members } => vec![
                ("task", text(task)),
                ("gate", text(gate)),
                ("expectedRole", text(role)),
                ("actualRole", roles.first().map_or(Value::Null, text)),
                ("actualRoles", texts(roles)),
                ("yourAgentId", text(agent)),
                ("validAgents", texts(members)),
            ],
            Self::RejectNotAllowed { gate, valid } => {
                vec![
                    ("gate", text(gate)),
                    ("canReject", json!(false)),
                    ("validOutcomes", texts(valid)),
                ]
            }
            Self::SkipNotAllowed { gate, valid, .. } => {
                vec![
                    ("gate", text(gate)),
                    ("canSkip", json!(false)),
                    ("validOutcomes", texts(valid)),
                ]
            }
            Self::HumanRequired { gate, agent, people, .. } => vec![
                ("gate", text(gate)),
                ("requireHuman", json!(true)),
                ("yourAgentId", text(agent)),
                ("validAgents", texts(people)),
            ],
            Self::CircularLoop { task, gate, count } => {
                vec![("task", text(task)), ("gate", text(gate)), ("loopCount", json!(count))]
            }
            Self::VisitEnded { ticket, gate, agent, winner, outcome, at } => vec![
                ("task", text(&ticket.task)),
                ("visit", json!(ticket.visit)),
                ("gate", text(gate)),
                ("winningAgent", winner.as_ref().map_or(Value::Null, text)),
                ("losingAgent", agent.as_ref().map_or(Value::Null, text)),
                ("outcome", json!(outcome)),
                ("exited", text(at)),
            ],
            Self::VisitAhead { task, visit, current } => {
                vec![
                    ("task", text(task)),
                    ("visit", json!(visit)),
                    ("currentVisit", json!(current)),
                ]
            }
            Self::Finished { task, status, at } => {
                vec![("task", text(task)), ("status", text(status)), ("since", text(at))]
            }
            Self::CompletionReused { id, task, visit } => {
                vec![("completionId", text(id)), ("task", text(task)), ("visit", json!(visit))]
            }
            Self::NotAdopted { task } | Self::NotClaimed { task } => vec![("task", text(task))],
            Self::UnknownWorkflow { task, workflow, known } => {
                vec![
                    ("task", text(task)),
                    ("workflow", json!(workflow)),
                    ("validWorkflows", json!(known)),
                ]
            }
            Self::GateGone { task, gate, known } => {
                vec![("task", text(task)), ("gate", text(gate)), ("validGates", texts(known))]
            }
            Self::UnknownGate { given, known } => {
                vec![("gate", text(given)), ("validGates", texts(known))]
            }
            Self::NotVisible { workflow, agent, viewers } => {
                vec![
                    ("workflow", text(workflow)),
                    ("yourAgentId", text(agent)),
                    ("visibleTo", texts(viewers)),
                ]
            }
            Self::NoGateApplies { workflow } => vec![("workflow", json!(workflow))],
            Self::NobodyWorksHere { task, gate }
            | Self::NotAutomatic { task, gate }
            | Self::NotFinished { task, gate }
            | Self::BranchesNotOpen { task, gate } => {
                vec![("task", text(task)), ("gate", text(gate))]
            }
            Self::NotSeparate { task, gate, agent, by, worked_at } => vec![
                ("task", text(task)),
                ("gate", text(gate)),
                ("yourAgentId", text(agent)),
                ("separateFrom", text(worked_at)),
                ("by", text(by)),
            ],
            Self::NotBlocked { task, status } => {
                vec![("task", text(task)), ("status", text(status))]
            }
            Self::MissingReason { .. } => vec![("requiredField", json!("reason"))],
            Self::NotPermitted { agent, act } => {
                vec![("yourAgentId", text(agent)), ("permission", text(act))]
            }
            Self::Held { task, reasons } => {
                vec![("task", text(task)), ("blockers", json!(reasons))]
            }
            Self::NotDue { ticket, at } => {
                vec![("task", text(ticket)), ("deadline", at.as_ref().map_or(Value::Null, text))]
            }
            Self::Blocked { ticket, blockers } => {
                vec![("task", text(ticket)), ("blockers", json!(blockers))]
            }
            Self::BranchNeeded { task, gate, open } => {
                vec![("task", text(task)), ("gate", text(gate)), ("openBranches", tickets(open))]
            }
            Self::NotOfABranch { ticket, .. } => {
                vec![
                    ("task", text(&ticket.task)),
                    ("branch", ticket.branch.as_ref().map_or(Value::Null, text)),
                ]
            }
            Self::NotYourBranch { task, gate, agent, open } => vec![
                ("task", text(task)),
                ("gate", text(gate)),
                ("yourAgentId", text(agent)),
                ("openBranches", tickets(open)),
            ],
            Self::Signature(wanted) => vec![
                ("task", text(&wanted.ticket)),
                ("yourAgentId", text(&wanted.agent)),
                ("validKeys", texts(&wanted.keys)),
                ("completionId", text(&wanted.completion)),
                ("namespace", json!(NAMESPACE)),
                ("toSign", json!(wanted.text)),
            ],
            Self::NoSuchBranch { ticket, gate, open } => vec![
                ("task", text(&ticket.task)),
                ("gate", text(gate)),
                ("branch", ticket.branch.as_ref().map_or(Value::Null, text)),
                ("openBranches", tickets(open)),
            ],
        }
    }
}

fn tickets(open: &[(Ticket, RoleId)]) -> Value {
    open.iter().map(|(ticket, role)| json!({"ticket": text(ticket), "role": text(role)})).collect()
}

fn text(value: &impl std::fmt::Display) -> Value {
    Value::String(value.to_string())
}

fn texts<T: std::fmt::Display>(values: &[T]) -> Value {
    values.iter().map(text).collect()
}
