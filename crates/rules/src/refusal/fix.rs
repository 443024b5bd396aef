//! The fixes, codes and fields of refusals.

use serde_json::{Value, json};

use super::{Flaw, NAMESPACE, Refusal, about_children, meant_outcome, of_signature, sample};
use crate::outputs::Problem;
use aof_domain::{GateId, Identity, Map, Outcome, RoleId, Ticket, listed, nearest};

/// The number of problems of one completion that are written out; programs get all of them.
const PROBLEM_LIMIT: usize = 20;

impl Refusal {
    /// Returns the fix: an act that would be accepted instead.
    #[expect(clippy::too_many_lines, reason = "one arm a refusal; each is a sentence")]
    pub fn fix(&self) -> String {
        match self {
            Self::MissingOutcome { valid, .. } => format!("give one of {}:\n{}", listed(valid), meanings(valid)),
            Self::InvalidOutcome { given, valid, .. } => {
                let question = question(meant_outcome(given, valid).map(Outcome::as_str));
                format!("{question}valid here: {}\n{}", listed(valid), meanings(valid))
            }
            Self::MissingSummary { .. } => "say in one or two sentences what was done".to_owned(),
            Self::MissingBlockers { outcome } | Self::EmptyBlockers { outcome } => match outcome {
                Outcome::Blocked => "name what you wait for, and from whom, one blocker for each",
                _ => "name what has to be mended so that somebody else can do it, one blocker for each thing",
            }
            .to_owned(),
            Self::TooLong { field: "body", .. } => {
                "put the text into a file of the repository and name the file in the summary".to_owned()
            }
            Self::TooLong { .. } => "keep it short, and hand the rest on as a file".to_owned(),
            Self::ContradictoryStatus { .. } => "say it once: give the outcome, or `$status`".to_owned(),
            Self::ContradictoryVerdict { .. } => {
                "make up your mind: mend the text, or give no outcome and let the text speak".to_owned()
            }
            Self::InvalidOutputs { problems, .. } => {
                let shown = problems.iter().take(PROBLEM_LIMIT).map(|problem| format!("- {}", problem.message()));
                let mut lines = vec!["mend this, all at once:".to_owned()];
                lines.extend(shown);
                if problems.len() > PROBLEM_LIMIT {
                    lines.push(format!("- and {} more", problems.len() - PROBLEM_LIMIT));
                }
                lines.join("\n")
            }
            Self::MissingInput { missing, .. } => {
                let options: Vec<String> = missing.iter().map(|name| format!("--context {name}=VALUE")).collect();
                format!("give `{}`", options.join(" "))
            }
            Self::UnknownInput { given, known, .. } => {
                let meant = given.iter().find_map(|name| nearest(name, known.iter().map(String::as_str)));
                let question = question(meant);
                format!("{question}it begins with {}", listed(known))
            }
            Self::WrongTask { assigned, attempted, role: Some(_) } => {
                format!("complete `{assigned}`; `{attempted}` is for others: see it with `aof show {attempted}`")
            }
            Self::WrongTask { assigned, attempted, role: None } => format!(
                "complete `{assigned}`, or give it back first: `aof release {assigned}`; see `{attempted}` with `aof show {attempted}`"
            ),
            Self::AssignedToAnother { ticket, holder, .. } => format!(
                "leave it to `{holder}`, take another with `aof next`, or have `{holder}` give it back: `aof release {ticket} --agent {holder}`"
            ),
            Self::ClaimLost { ticket, holder, .. } => format!(
                "nothing was changed; hand what you have over to `{holder}`, as in `aof comment {}`, and take another \
                 with `aof next`; work that takes longer than a claim lasts is kept by `aof renew`",
                ticket.task
            ),
            Self::Held { task, .. } => {
                format!("wait until a person sets it going again, as with `aof unblock {task}`")
            }
            Self::ChildrenOpen { task, children, .. } => about_children(task, children),
            Self::ChecksDue { .. } => {
                "`aof complete` and `aof watch` run the checks first".to_owned()
            }
            Self::ChecksFailed { task, results, .. } => match results.tests {
                Some(_) => format!(
                    "correct what failed, see `aof test {task} --committed`, then say it again"
                ),
                None => "do what is open, tick its box in the task's text, then say it again".to_owned(),
            },
            Self::NotDue { .. } => "nothing is to be done".to_owned(),
            Self::WrongRole { members, role, .. } if members.is_empty() => {
                format!("nobody can complete it yet: add an agent to role `{role}` in org.yaml")
            }
            Self::WrongRole { members, .. } => format!(
                "it can be completed by {}; take a task of your own with `aof next`, or have org.yaml changed",
                listed(members)
            ),
            Self::RejectNotAllowed { valid, .. } => format!(
                "valid here: {}\n{}\nIf the work has faults, mend them, or complete it and let the next review see them",
                listed(valid),
                meanings(valid)
            ),
            Self::SkipNotAllowed { human: true, .. } => {
                "a person completes it; tasks that need no approval are told by the gate's `when`".to_owned()
            }
            Self::SkipNotAllowed { valid, .. } => format!("valid here: {}\n{}", listed(valid), meanings(valid)),
            Self::HumanRequired { people, role, .. } if people.is_empty() => {
                format!(
                    "nobody can complete it yet: add an agent whose id begins with `human-` to role `{role}` in org.yaml"
                )
            }
            Self::HumanRequired { people, .. } => format!("leave it to {}", listed(people)),
            Self::CircularLoop { task, .. } => format!(
                "read `aof history {task}`; then set it going with `aof unblock {task} --reason \"...\"`, move it with `aof override`, or call it off"
            ),
            Self::VisitEnded { ticket: Ticket { task, .. }, .. } => {
                format!(
                    "nothing was changed and nothing is to be done; see where it stands now with `aof show {task}`"
                )
            }
            Self::Repeated { ticket, open, .. } => format!(
                "nothing was changed, and nothing is to be done; if gate `{open}` is meant as well, name its visit: `{ticket}` in place of `{}`",
                ticket.task
            ),
            Self::OtherGate { ticket, current, .. } => {
                format!("if gate `{current}` is meant, name its visit: `{ticket}`; see where it stands with `aof show {}`", ticket.task)
            }
            Self::VisitAhead { task, .. } => format!("use the ticket that `aof show {task}` prints"),
            Self::Finished { task, .. } => {
                format!("to work on it again: `aof reopen {task} --to GATE --reason \"...\"`")
            }
            Self::CompletionReused { .. } => "give each completion an id of its own, or none".to_owned(),
            Self::NotAdopted { .. } => {
                "it is a hand-made file; the first command that changes it, or `aof watch`, puts it at its first gate"
                    .to_owned()
            }
            Self::UnknownWorkflow { known, workflow, .. } => {
                let meant = nearest(workflow, known.iter().map(String::as_str));
                let question = question(meant);
                format!(
                    "{question}the rules in force have {}; commit a workflow of that name, or, as long as the task stands at no gate, \
                     name another in `routing.workflow`",
                    listed(known)
                )
            }
            Self::GateGone { task, known, .. } => format!(
                "move it to one of {} with `aof override {task} --to GATE --reason \"...\"`",
                listed(known)
            ),
            Self::UnknownGate { given, known } => match nearest(given.as_str(), known.iter().map(GateId::as_str)) {
                Some(name) => format!("did you mean `{name}`? its gates are {}", listed(known)),
                None => format!("its gates are {}", listed(known)),
            },
            Self::NotVisible { viewers, .. } => {
                format!("it is started by {}; see what you may start with `aof workflow list`", listed(viewers))
            }
            Self::NoGateApplies { workflow } => {
                format!("see the conditions with `aof workflow show {workflow}`, or choose another with `--workflow`")
            }
            Self::NotClaimed { .. } => {
                "there is nothing to give back or to renew; `aof next` claims one".to_owned()
            }
            Self::NobodyWorksHere { task, gate } => {
                format!(
                    "the rules changed while it stood there; let it decide with `aof override {task} --to {gate} --reason \"...\"`"
                )
            }
            Self::NotAutomatic { task, .. } => format!("see who can with `aof why {task}`"),
            Self::NotSeparate { task, by: Identity::Agent, .. } => {
                format!("leave it to another agent of the role; see who can complete it with `aof why {task}`")
            }
            Self::NotSeparate { by: Identity::Session, .. } => {
                "leave it to another agent of the role, or work in another session: `aof run`, `aof mcp`, or `AOF_SESSION=NAME`".to_owned()
            }
            Self::NotBlocked { task, .. } => format!("see what it waits for with `aof why {task}`"),
            Self::NotFinished { task, .. } => {
                format!("to move it against the workflow: `aof override {task} --to GATE --reason \"...\"`")
            }
            Self::MissingReason { .. } => "add `--reason \"...\"`".to_owned(),
            Self::NotPermitted { act, agent } => {
                format!("ask a person, or allow it in org.yaml: `agents: {{{agent}: {{may: [{act}]}}}}`")
            }
            Self::NotYourBranch { open, .. } => branches(
                "leave it to an agent of the role, or take another with `aof next`",
                open,
            ),
            Self::NoSuchBranch { open, ticket, .. } if open.is_empty() => {
                format!("see where it stands with `aof why {}`", ticket.task)
            }
            Self::BranchNeeded { open, .. } | Self::NoSuchBranch { open, .. } => {
                branches("use the ticket of a branch that is open", open)
            }
            Self::NotOfABranch { ticket, act } => format!("if that is what you want: `aof {act} {}`", ticket.task),
            Self::Signature(wanted) => of_signature(wanted),
            Self::BranchesNotOpen { task, gate } => {
                format!("open them with `aof override {task} --to {gate} --reason \"...\"`")
            }
            Self::Blocked { ticket, blockers }
                if blockers.iter().any(|blocker| blocker.lost().is_some()) =>
            {
                format!(
                    "take up what is lost again (`aof reopen`), or leave it out: `aof edit {} --undepends ID`",
                    ticket.task
                )
            }
            Self::Blocked { ticket, .. } => {
                format!("once that is settled, `aof unblock {ticket}`; or complete it with the outcome it has now")
            }
        }
    }
}

fn question(meant: Option<&str>) -> String {
    meant.map(|word| format!("did you mean `{word}`? ")).unwrap_or_default()
}

/// Lists the open branches below a piece of advice, each with its ticket.
fn branches(advice: &str, open: &[(Ticket, RoleId)]) -> String {
    let lines: Vec<String> =
        open.iter().map(|(ticket, role)| format!("  `{ticket}`  role {role}")).collect();
    format!("{advice}:\n{}", lines.join("\n"))
}

/// Returns one line for each outcome, with its use.
fn meanings(outcomes: &[Outcome]) -> String {
    let lines: Vec<String> =
        outcomes.iter().map(|outcome| format!("  `{outcome}`  {}", meaning(outcome))).collect();
    lines.join("\n")
}

/// Returns the use of an outcome, in general.
const fn meaning(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "your work here is finished",
        Outcome::NeedsReview => {
            "you found something that somebody else has to mend (list it in `blockers`)"
        }
        Outcome::Blocked => "something outside stops you (name it in `blockers`)",
        Outcome::Skip => "this gate does not apply to the task",
        Outcome::Failed => "you tried, and could not do it",
        Outcome::Decision(_) => "a decision of this gate; the brief says what it means",
    }
}

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
