//! The codes and fields of refusals, for programs.

use serde_json::{Value, json};

use super::{Flaw, NAMESPACE, Refusal, meant_outcome, sample};
use crate::outputs::Problem;
use aof_domain::{Map, Outcome, RoleId, Ticket};

impl Refusal {
    /// Returns the refusal's code in JSON.
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
            Self::InvalidOutputs { problems, .. } => code_of(problems),
            Self::MissingInput { .. } => "missing_input",
            Self::UnknownInput { .. } => "unknown_input",
            Self::WrongTask { .. } => "wrong_task",
            Self::AssignedToAnother { .. } => "assigned_to_another",
            Self::ClaimLost { .. } => "claim_lost",
            Self::Held { .. } => "task_held",
            Self::ChildrenOpen { .. } => "children_open",
            Self::ChecksDue { .. } => "checks_due",
            Self::ChecksFailed { .. } => "checks_failed",
            Self::NotDue { .. } => "not_due",
            Self::WrongRole { .. } => "wrong_role",
            Self::RejectNotAllowed { .. } => "reject_not_allowed",
            Self::SkipNotAllowed { .. } => "skip_not_allowed",
            Self::HumanRequired { .. } => "human_required",
            Self::CircularLoop { .. } => "circular_loop",
            Self::VisitEnded { .. } => "visit_ended",
            Self::Repeated { .. } => "repeated_completion",
            Self::OtherGate { .. } => "other_gate",
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
                Flaw::NoKey { .. } => "no_signing_key",
                _ => "bad_signature",
            },
        }
    }

    /// Returns the fields besides code and message, in their order.
    pub fn fields(&self) -> Map {
        match self.object() {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm a refusal")]
    fn object(&self) -> Value {
        match self {
            Self::MissingOutcome { gate, valid } => {
                json!({"requiredField": "outcome", "gate": gate, "validOutcomes": valid})
            }
            Self::InvalidOutcome { gate, valid, .. } => {
                json!({"validOutcomes": valid, "gate": gate})
            }
            Self::MissingSummary { .. } => json!({"requiredField": "summary"}),
            Self::MissingBlockers { .. } | Self::EmptyBlockers { .. } => {
                json!({"requiredField": "blockers"})
            }
            Self::TooLong { field, bytes, limit } => {
                json!({"field": field, "bytes": bytes, "limit": limit})
            }
            Self::ContradictoryStatus { outcome, status } => {
                json!({"outcome": outcome, "status": status})
            }
            Self::ContradictoryVerdict { gate, outcome, verdict } => {
                json!({"gate": gate, "outcome": outcome, "verdict": verdict})
            }
            Self::InvalidOutputs { gate, outcome, problems, .. } => {
                let problems: Vec<Value> = problems.iter().map(Problem::to_value).collect();
                json!({"gate": gate, "outcome": outcome, "problems": problems})
            }
            Self::MissingInput { workflow, missing } => {
                json!({"workflow": workflow, "missing": missing, "requiredField": "context"})
            }
            Self::UnknownInput { workflow, given, known } => {
                json!({"workflow": workflow, "unknown": given, "knownInputs": known})
            }
            Self::WrongTask { assigned, attempted, role } => {
                let mut fields = json!({"assignedTask": assigned, "attemptedTask": attempted});
                if let Some(Self::WrongRole { gate, role, .. }) = role.as_deref() {
                    fields["gate"] = json!(gate);
                    fields["expectedRole"] = json!(role);
                }
                fields
            }
            Self::AssignedToAnother { ticket, holder, agent }
            | Self::ClaimLost { ticket, holder, agent } => {
                json!({"task": ticket, "assignedAgent": holder, "yourAgentId": agent})
            }
            Self::WrongRole { task, gate, role, agent, roles, members } => json!({
                "task": task,
                "gate": gate,
                "expectedRole": role,
                "actualRole": roles.first(),
                "actualRoles": roles,
                "yourAgentId": agent,
                "validAgents": members,
            }),
            Self::RejectNotAllowed { gate, valid } => {
                json!({"gate": gate, "canReject": false, "validOutcomes": valid})
            }
            Self::SkipNotAllowed { gate, valid, .. } => {
                json!({"gate": gate, "canSkip": false, "validOutcomes": valid})
            }
            Self::HumanRequired { gate, agent, people, .. } => {
                json!({"gate": gate, "requireHuman": true, "yourAgentId": agent, "validAgents": people})
            }
            Self::CircularLoop { task, gate, count } => {
                json!({"task": task, "gate": gate, "loopCount": count})
            }
            Self::VisitEnded { ticket, gate, agent, winner, outcome, at } => json!({
                "task": ticket.task,
                "visit": ticket.visit,
                "gate": gate,
                "winningAgent": winner,
                "losingAgent": agent,
                "outcome": outcome,
                "exited": at.to_string(),
            }),
            Self::Repeated { ticket, open, gate, agent, outcome, at } => json!({
                "task": ticket.task,
                "ticket": ticket,
                "openGate": open,
                "gate": gate,
                "yourAgentId": agent,
                "outcome": outcome,
                "exited": at.to_string(),
            }),
            Self::OtherGate { ticket, given, current } => {
                json!({"task": ticket.task, "ticket": ticket, "gate": given, "openGate": current})
            }
            Self::VisitAhead { task, visit, current } => {
                json!({"task": task, "visit": visit, "currentVisit": current})
            }
            Self::Finished { task, status, at } => {
                json!({"task": task, "status": status, "since": at.to_string()})
            }
            Self::CompletionReused { id, task, visit } => {
                json!({"completionId": id, "task": task, "visit": visit})
            }
            Self::NotAdopted { task } | Self::NotClaimed { task } => json!({"task": task}),
            Self::UnknownWorkflow { task, workflow, known } => {
                json!({"task": task, "workflow": workflow, "validWorkflows": known})
            }
            Self::GateGone { task, gate, known } => {
                json!({"task": task, "gate": gate, "validGates": known})
            }
            Self::UnknownGate { given, known } => json!({"gate": given, "validGates": known}),
            Self::NotVisible { workflow, agent, viewers } => {
                json!({"workflow": workflow, "yourAgentId": agent, "visibleTo": viewers})
            }
            Self::NoGateApplies { workflow } => json!({"workflow": workflow}),
            Self::NobodyWorksHere { task, gate }
            | Self::NotAutomatic { task, gate }
            | Self::NotFinished { task, gate }
            | Self::BranchesNotOpen { task, gate } => json!({"task": task, "gate": gate}),
            Self::NotSeparate { task, gate, agent, by, worked_at } => json!({
                "task": task,
                "gate": gate,
                "yourAgentId": agent,
                "separateFrom": worked_at,
                "by": by,
            }),
            Self::NotBlocked { task, status } => json!({"task": task, "status": status}),
            Self::MissingReason { .. } => json!({"requiredField": "reason"}),
            Self::NotPermitted { agent, act } => json!({"yourAgentId": agent, "permission": act}),
            Self::Held { task, reasons } => json!({"task": task, "blockers": reasons}),
            Self::ChecksDue { task, gate, checks } => {
                json!({"task": task, "gate": gate, "checks": checks})
            }
            Self::ChecksFailed { task, gate, results, failures } => {
                json!({"task": task, "gate": gate, "checks": results, "failures": failures})
            }
            Self::ChildrenOpen { task, gate, children } => {
                let children: Map = children
                    .iter()
                    .map(|(child, status)| (child.to_string(), json!(status)))
                    .collect();
                json!({"task": task, "gate": gate, "children": children})
            }
            Self::NotDue { ticket, at } => {
                json!({"task": ticket, "deadline": at.map(|at| at.to_string())})
            }
            Self::Blocked { ticket, blockers } => json!({"task": ticket, "blockers": blockers}),
            Self::BranchNeeded { task, gate, open } => {
                json!({"task": task, "gate": gate, "openBranches": branch_list(open)})
            }
            Self::NotOfABranch { ticket, .. } => {
                json!({"task": ticket.task, "branch": ticket.branch})
            }
            Self::NotYourBranch { task, gate, agent, open } => json!({
                "task": task,
                "gate": gate,
                "yourAgentId": agent,
                "openBranches": branch_list(open),
            }),
            Self::Signature(wanted) => json!({
                "task": wanted.ticket,
                "yourAgentId": wanted.agent,
                "validKeys": wanted.keys,
                "completionId": wanted.completion,
                "namespace": NAMESPACE,
                "toSign": wanted.text,
            }),
            Self::NoSuchBranch { ticket, gate, open } => json!({
                "task": ticket.task,
                "gate": gate,
                "branch": ticket.branch,
                "openBranches": branch_list(open),
            }),
        }
    }

    /// Returns a completion that would be accepted instead.
    pub fn example(&self) -> Option<Value> {
        match self {
            Self::InvalidOutcome { given, valid, .. } => {
                meant_outcome(given, valid).or(valid.first()).map(sample)
            }
            Self::MissingOutcome { valid, .. } | Self::SkipNotAllowed { valid, .. } => {
                valid.first().map(sample)
            }
            // An agent that found faults must not be led to ignore them.
            Self::RejectNotAllowed { valid, .. } => {
                valid.iter().find(|word| **word == Outcome::Blocked).or(valid.first()).map(sample)
            }
            Self::MissingSummary { outcome }
            | Self::MissingBlockers { outcome }
            | Self::EmptyBlockers { outcome } => Some(sample(outcome)),
            Self::InvalidOutputs { outcome, example, .. } => {
                let mut value = sample(outcome);
                value["outputs"] = (**example).clone();
                Some(value)
            }
            _ => None,
        }
    }
}

/// Returns the code for problems of one kind; `invalid_outputs` if they differ.
fn code_of(problems: &[Problem]) -> &'static str {
    let all = |code: &str| problems.iter().all(|problem| problem.code() == code);
    let codes = ["output_too_large", "protected_output"];
    codes.into_iter().find(|code| all(code)).unwrap_or("invalid_outputs")
}

fn branch_list(open: &[(Ticket, RoleId)]) -> Vec<Value> {
    open.iter().map(|(ticket, role)| json!({"ticket": ticket, "role": role})).collect()
}
