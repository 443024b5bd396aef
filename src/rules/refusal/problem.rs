//! What is wrong, said to whoever did it.

use super::{Refusal, ToSign};
use crate::domain::{Ending, Identity, Permission, listed};
use crate::rules::signing::verify::{Flaw, NAMESPACE};

impl Refusal {
    /// Returns what is wrong, and why: one sentence.
    #[expect(clippy::too_many_lines, reason = "one arm a refusal; each is a sentence")]
    pub fn problem(&self) -> String {
        match self {
            Self::MissingOutcome { gate, .. } => {
                format!("gate `{gate}` wants an outcome, and none was given")
            }
            Self::InvalidOutcome { given, gate, .. } => {
                format!("`{given}` is not an outcome of gate `{gate}`")
            }
            Self::MissingSummary { .. } => {
                "the `summary` is missing: nobody could tell later what was done".to_owned()
            }
            Self::MissingBlockers { outcome } => {
                format!("outcome `{outcome}` needs `blockers`, and none were given")
            }
            Self::EmptyBlockers { .. } => "`blockers` is there, but it names nothing".to_owned(),
            Self::TooLong { field, bytes, limit } => {
                format!("`{field}` has {bytes} bytes, and the limit is {limit}")
            }
            Self::ContradictoryStatus { outcome, status } => {
                format!("the outcome is `{outcome}`, and `$status` in the outputs says `{status}`")
            }
            Self::ContradictoryVerdict { outcome, verdict, .. } => {
                format!(
                    "the outcome is `{outcome}`, and the text that comes with it says `{verdict}`"
                )
            }
            Self::InvalidOutputs { gate, outcome, problems, .. } => {
                let count = problems.len();
                let things = if count == 1 {
                    "one thing is wrong".to_owned()
                } else {
                    format!("{count} things are wrong")
                };
                format!("{things} with the outputs for `{outcome}` at gate `{gate}`")
            }
            Self::MissingInput { workflow, missing } => {
                format!(
                    "a task of workflow `{workflow}` begins with {}, and nobody said it",
                    listed(missing)
                )
            }
            Self::UnknownInput { workflow, given, .. } => {
                format!("a task of workflow `{workflow}` does not begin with {}", listed(given))
            }
            Self::WrongTask { assigned, attempted, role } => {
                let role = role
                    .as_ref()
                    .map(|role| format!("; besides, {}", role.problem()))
                    .unwrap_or_default();
                format!("you tried to complete `{attempted}`, and your task is `{assigned}`{role}")
            }
            Self::AssignedToAnother { ticket, holder, .. } => {
                format!("task `{ticket}` is assigned to `{holder}`")
            }
            Self::ClaimLost { ticket, holder, .. } => {
                format!(
                    "your claim of task `{ticket}` ended because nobody renewed it, and `{holder}` has it now"
                )
            }
            Self::Held { task, reasons } => {
                format!("task `{task}` is held: {}", reasons.join("; "))
            }
            Self::NotDue { ticket, at: Some(at) } => {
                format!("the time of `{ticket}` runs until {at}")
            }
            Self::NotDue { ticket, at: None } => format!("no time limit runs for `{ticket}`"),
            Self::WrongRole { gate, role, agent, roles, .. } => format!(
                "gate `{gate}` is the work of role `{role}`, and `{agent}` {}",
                if roles.is_empty() {
                    "is in no role".to_owned()
                } else {
                    format!("is in {}", listed(roles))
                }
            ),
            Self::RejectNotAllowed { gate, .. } => {
                format!(
                    "gate `{gate}` does not send tasks back (`canReject` is false), so `needs_review` means nothing here"
                )
            }
            Self::SkipNotAllowed { gate, human: true, .. } => {
                format!(
                    "gate `{gate}` is for people, and such a gate is never skipped by an outcome"
                )
            }
            Self::SkipNotAllowed { gate, .. } => {
                format!("gate `{gate}` cannot be skipped by an outcome (`canSkip` is false)")
            }
            Self::HumanRequired { gate, agent, .. } => {
                format!("gate `{gate}` is for people, and `{agent}` is not one")
            }
            Self::CircularLoop { task, gate, count } => format!(
                "task `{task}` was sent back to gate `{gate}` {count} times and waits for a person to look at it"
            ),
            Self::VisitEnded { ticket, gate, outcome, at, .. }
                if outcome == Ending::Timeout.as_str() =>
            {
                format!(
                    "`{ticket}` at gate `{gate}` has ended: it took too long, and another role stepped in at {at}"
                )
            }
            Self::VisitEnded { ticket, gate, outcome, at, .. }
                if outcome == Ending::Moved.as_str() =>
            {
                format!(
                    "`{ticket}` at gate `{gate}` has ended: the rules changed, and the task was moved at {at}"
                )
            }
            Self::VisitEnded { ticket, gate, winner, outcome, at, .. } => {
                let who = winner
                    .as_ref()
                    .map_or_else(|| "somebody".to_owned(), |winner| format!("`{winner}`"));
                format!(
                    "`{ticket}` at gate `{gate}` has ended: {who} ended it with `{outcome}` at {at}"
                )
            }
            Self::VisitAhead { task, visit, current } => {
                format!("`{task}` has no visit {visit} yet: the open one is `{task}@{current}`")
            }
            Self::Finished { task, status, at } => {
                format!("task `{task}` has ended: it is `{status}` since {at}")
            }
            Self::CompletionReused { id, task, visit } => {
                format!(
                    "completion id `{id}` stands in the history of `{task}` (visit {visit}) with another content"
                )
            }
            Self::NotAdopted { task } => format!("task `{task}` does not stand at a gate yet"),
            Self::UnknownWorkflow { task, workflow, .. } => {
                format!(
                    "task `{task}` follows workflow `{workflow}`, which the rules in force do not have"
                )
            }
            Self::GateGone { task, gate, .. } => {
                format!(
                    "task `{task}` stands at gate `{gate}`, which its workflow does not have any more"
                )
            }
            Self::UnknownGate { given, .. } => {
                format!("there is no gate `{given}` in the task's workflow")
            }
            Self::NotVisible { workflow, agent, .. } => {
                format!("workflow `{workflow}` is not for `{agent}`")
            }
            Self::NoGateApplies { workflow } => {
                format!(
                    "no gate of workflow `{workflow}` applies to this task: every `when` is false"
                )
            }
            Self::NotClaimed { task } => format!("nobody has claimed task `{task}`"),
            Self::NobodyWorksHere { task, gate } => {
                format!("task `{task}` is at gate `{gate}`, which decides by itself")
            }
            Self::NotAutomatic { task, gate } => {
                format!("task `{task}` is at gate `{gate}`, where somebody has to decide")
            }
            Self::NotSeparate { task, gate, agent, by: Identity::Agent, worked_at } => format!(
                "`{agent}` worked on task `{task}` at gate `{worked_at}`, and gate `{gate}` is for somebody else"
            ),
            Self::NotSeparate { task, gate, by: Identity::Session, worked_at, .. } => format!(
                "gate `{gate}` wants another session than the one that worked on task `{task}` at gate `{worked_at}`"
            ),
            Self::NotBlocked { task, status } => {
                format!("task `{task}` is not blocked: it is `{status}`")
            }
            Self::NotFinished { task, gate } => {
                format!("task `{task}` has not ended: it is at gate `{gate}`")
            }
            Self::MissingReason { act: "hold" } => {
                "`hold` wants a reason: whoever works at the task reads it".to_owned()
            }
            Self::MissingReason { act } => {
                format!("`{act}` wants a reason: it goes into the history")
            }
            Self::NotPermitted { agent, act: Permission::New } => {
                format!("`{agent}` may not create tasks: that is for people")
            }
            Self::NotPermitted { agent, act } => {
                format!("`{agent}` may not {act} this task: that is for people")
            }
            Self::Blocked { ticket, blockers } => {
                format!("task `{ticket}` is blocked: {}", blockers.join("; "))
            }
            Self::BranchNeeded { task, gate, .. } => {
                format!(
                    "task `{task}` is at gate `{gate}`, where several branches are open: say which one you mean"
                )
            }
            Self::NotYourBranch { task, gate, agent, .. } => {
                format!(
                    "task `{task}` is at gate `{gate}`, and none of the branches that are open there is for `{agent}`"
                )
            }
            Self::NoSuchBranch { ticket, gate, .. } => {
                let branch =
                    ticket.branch.as_ref().map(|branch| format!(" `{branch}`")).unwrap_or_default();
                format!(
                    "task `{}` is at gate `{gate}`, and no branch{branch} is open there",
                    ticket.task
                )
            }
            Self::NotOfABranch { ticket, act } => {
                format!("`{act}` is about the whole task, and `{ticket}` names a branch of it")
            }
            Self::Signature(wanted) => of_signature(wanted),
            Self::BranchesNotOpen { task, gate } => {
                format!(
                    "gate `{gate}` became a fork while task `{task}` stood there, and its branches never opened"
                )
            }
        }
    }
}

fn of_signature(wanted: &ToSign) -> String {
    let (agent, ticket) = (&wanted.agent, &wanted.ticket);
    match &wanted.flaw {
        Flaw::Missing => {
            format!("`{agent}` signs completions, and this one of `{ticket}` has no signature")
        }
        Flaw::OtherUse { namespace } => format!(
            "the signature was made for `{}`, and those of completions are made for `{NAMESPACE}`",
            namespace.escape_debug()
        ),
        Flaw::OtherKey { key } => {
            format!(
                "the signature was made with the key `{}`, which is not `{agent}`'s",
                key.fingerprint()
            )
        }
        Flaw::OtherText => format!(
            "the signature is of something else than this completion of `{ticket}`: of another visit, another project, other \
             rules, or other words"
        ),
        Flaw::NoKey { .. } => format!(
            "the completion is signed, and org.yaml has no `signingKey` of `{agent}` that the signature could be checked with"
        ),
    }
}
