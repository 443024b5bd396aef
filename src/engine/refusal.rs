//! What the rules say no to, and how they teach: what is wrong, why, the fix, an example (spec 1, section 9).
//!
//! A refusal changes nothing. Its code and fields are stable; its sentences are for reading.

use serde_json::{Value, json};

use crate::model::{AgentId, CompletionId, GateId, Outcome, Permission, RoleId, Status, TaskId, Timestamp};
use crate::model::{listed, nearest};

/// Why an act was not carried out.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// No outcome was given at a gate that wants one.
    MissingOutcome { gate: GateId, valid: Vec<Outcome> },
    /// The outcome is no word that this gate knows (9.1).
    InvalidOutcome { given: String, gate: GateId, valid: Vec<Outcome> },
    /// The summary is missing or blank (9.2).
    MissingSummary { outcome: Outcome },
    /// `needs_review` and `blocked` want blockers (9.3).
    MissingBlockers { outcome: Outcome },
    /// The list of blockers is there and says nothing (9.4).
    EmptyBlockers { outcome: Outcome },
    /// A text is longer than a history should carry.
    TooLong { field: &'static str, bytes: usize, limit: usize },
    /// The agent has another task (9.6).
    WrongTask { assigned: TaskId, attempted: TaskId },
    /// Somebody else has claimed this task.
    AssignedToAnother { task: TaskId, holder: AgentId, agent: AgentId },
    /// The agent is not in the gate's role (9.13).
    WrongRole { task: TaskId, gate: GateId, role: RoleId, agent: AgentId, roles: Vec<RoleId>, members: Vec<AgentId> },
    /// The gate does not send back (9.10).
    RejectNotAllowed { gate: GateId, valid: Vec<Outcome> },
    /// The gate does not let itself be skipped.
    SkipNotAllowed { gate: GateId, human: bool, valid: Vec<Outcome> },
    /// The gate is for people (9.11).
    HumanRequired { gate: GateId, role: RoleId, agent: AgentId, people: Vec<AgentId> },
    /// The task was sent back too often; a person has to look (9.9).
    CircularLoop { task: TaskId, gate: GateId, count: u32 },
    /// The visit that was meant has ended (9.14).
    VisitEnded {
        task: TaskId,
        visit: usize,
        gate: GateId,
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
    /// No gate of the workflow applies to the task.
    NoGateApplies { workflow: String },
    /// Nobody has claimed the task.
    NotClaimed { task: TaskId },
    /// The task is not blocked.
    NotBlocked { task: TaskId, status: Status },
    /// The task has not ended.
    NotFinished { task: TaskId, gate: GateId },
    /// The act wants a reason.
    MissingReason { act: &'static str },
    /// The act is for people, or for agents that org.yaml allows it.
    NotPermitted { agent: AgentId, act: Permission },
    /// The task is blocked and cannot be claimed.
    Blocked { task: TaskId, blockers: Vec<String> },
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
    /// Returns the family.
    pub const fn kind(&self) -> RefusalKind {
        match self {
            Self::VisitEnded { .. } | Self::VisitAhead { .. } | Self::Finished { .. } => RefusalKind::Conflict,
            _ => RefusalKind::Refused,
        }
    }

    /// Returns the code that stands for the refusal in JSON.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::MissingOutcome { .. } => "missing_outcome",
            Self::InvalidOutcome { .. } => "invalid_outcome",
            Self::MissingSummary { .. } => "missing_summary",
            Self::MissingBlockers { .. } => "missing_blockers",
            Self::EmptyBlockers { .. } => "empty_blockers",
            Self::TooLong { .. } => "too_long",
            Self::WrongTask { .. } => "wrong_task",
            Self::AssignedToAnother { .. } => "assigned_to_another",
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
            Self::NoGateApplies { .. } => "no_gate_applies",
            Self::NotClaimed { .. } => "not_claimed",
            Self::NotBlocked { .. } => "not_blocked",
            Self::NotFinished { .. } => "not_finished",
            Self::MissingReason { .. } => "missing_reason",
            Self::NotPermitted { .. } => "not_permitted",
            Self::Blocked { .. } => "task_blocked",
        }
    }

    /// Returns what is wrong, and why: one sentence.
    pub fn problem(&self) -> String {
        match self {
            Self::MissingOutcome { gate, .. } => format!("gate `{gate}` wants an outcome, and none was given"),
            Self::InvalidOutcome { given, gate, .. } => format!("`{given}` is not an outcome of gate `{gate}`"),
            Self::MissingSummary { .. } => "the `summary` is missing: nobody could tell later what was done".to_owned(),
            Self::MissingBlockers { outcome } => {
                format!("outcome `{outcome}` needs `blockers`, and none were given")
            }
            Self::EmptyBlockers { .. } => "`blockers` is there, but it names nothing".to_owned(),
            Self::TooLong { field, bytes, limit } => {
                format!("`{field}` has {bytes} bytes, and the limit is {limit}")
            }
            Self::WrongTask { assigned, attempted } => {
                format!("you tried to complete `{attempted}`, and your task is `{assigned}`")
            }
            Self::AssignedToAnother { task, holder, .. } => format!("task `{task}` is assigned to `{holder}`"),
            Self::WrongRole { gate, role, agent, roles, .. } => format!(
                "gate `{gate}` is the work of role `{role}`, and `{agent}` {}",
                if roles.is_empty() { "is in no role".to_owned() } else { format!("is in {}", listed(roles)) }
            ),
            Self::RejectNotAllowed { gate, .. } => {
                format!(
                    "gate `{gate}` does not send tasks back (`canReject` is false), so `needs_review` means nothing here"
                )
            }
            Self::SkipNotAllowed { gate, human: true, .. } => {
                format!("gate `{gate}` is for people, and such a gate is never skipped by an outcome")
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
            Self::VisitEnded { task, visit, gate, winner, outcome, at, .. } => {
                let who = winner.as_ref().map_or_else(|| "somebody".to_owned(), |winner| format!("`{winner}`"));
                format!("`{task}@{visit}` at gate `{gate}` has ended: {who} ended it with `{outcome}` at {at}")
            }
            Self::VisitAhead { task, visit, current } => {
                format!("`{task}` has no visit {visit} yet: the open one is `{task}@{current}`")
            }
            Self::Finished { task, status, at } => format!("task `{task}` has ended: it is `{status}` since {at}"),
            Self::CompletionReused { id, task, visit } => {
                format!("completion id `{id}` stands in the history of `{task}` (visit {visit}) with another content")
            }
            Self::NotAdopted { task } => format!("task `{task}` does not stand at a gate yet"),
            Self::UnknownWorkflow { task, workflow, .. } => {
                format!("task `{task}` follows workflow `{workflow}`, which the rules in force do not have")
            }
            Self::GateGone { task, gate, .. } => {
                format!("task `{task}` stands at gate `{gate}`, which its workflow does not have any more")
            }
            Self::UnknownGate { given, .. } => format!("there is no gate `{given}` in the task's workflow"),
            Self::NoGateApplies { workflow } => {
                format!("no gate of workflow `{workflow}` applies to this task: every `when` is false")
            }
            Self::NotClaimed { task } => format!("nobody has claimed task `{task}`"),
            Self::NotBlocked { task, status } => format!("task `{task}` is not blocked: it is `{status}`"),
            Self::NotFinished { task, gate } => format!("task `{task}` has not ended: it is at gate `{gate}`"),
            Self::MissingReason { act } => format!("`{act}` wants a reason: it goes into the history"),
            Self::NotPermitted { agent, act: Permission::New } => {
                format!("`{agent}` may not create tasks: that is for people")
            }
            Self::NotPermitted { agent, act } => {
                format!("`{agent}` may not {act} this task: that is for people")
            }
            Self::Blocked { task, blockers } => {
                format!("task `{task}` is blocked: {}", blockers.join("; "))
            }
        }
    }

    /// Returns what to do instead.
    pub fn fix(&self) -> String {
        match self {
            Self::MissingOutcome { valid, .. } => format!("give one of {}:\n{}", listed(valid), meanings(valid)),
            Self::InvalidOutcome { given, valid, .. } => {
                let meant = nearest(given, valid.iter().map(|outcome| outcome.as_str()));
                let meant = meant.or_else(|| synonym(given).filter(|word| valid.iter().any(|o| o.as_str() == *word)));
                let question = meant.map(|word| format!("did you mean `{word}`? ")).unwrap_or_default();
                format!("{question}valid here: {}\n{}", listed(valid), meanings(valid))
            }
            Self::MissingSummary { .. } => "say in one or two sentences what was done".to_owned(),
            Self::MissingBlockers { outcome } | Self::EmptyBlockers { outcome } => match outcome {
                Outcome::Blocked => "name what you wait for, and from whom, one blocker for each".to_owned(),
                _ => {
                    "name what has to be mended so that somebody else can do it, one blocker for each thing".to_owned()
                }
            },
            Self::TooLong { field: "body", .. } => {
                "put the text into a file of the repository and name the file in the summary".to_owned()
            }
            Self::TooLong { .. } => "keep it short, and hand the rest on as a file".to_owned(),
            Self::WrongTask { assigned, attempted } => format!(
                "complete `{assigned}`, or give it back first: `aof task release {assigned}`; see `{attempted}` with `aof task show {attempted}`"
            ),
            Self::AssignedToAnother { task, holder, .. } => format!(
                "leave it to `{holder}`, take another with `aof task next`, or have `{holder}` give it back: `aof task release {task}`"
            ),
            Self::WrongRole { members, role, .. } if members.is_empty() => {
                format!("nobody can complete it yet: add an agent to role `{role}` in org.yaml")
            }
            Self::WrongRole { members, .. } => format!(
                "it can be completed by {}; take a task of your own with `aof task next`, or have org.yaml changed",
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
                "read `aof task history {task}`; then set it going with `aof task unblock {task} --reason \"...\"`, move it with `aof task override`, or call it off"
            ),
            Self::VisitEnded { task, .. } => {
                format!(
                    "nothing was changed and nothing is to be done; see where it stands now with `aof task show {task}`"
                )
            }
            Self::VisitAhead { task, .. } => format!("use the ticket that `aof task show {task}` prints"),
            Self::Finished { task, .. } => {
                format!("to work on it again: `aof task reopen {task} --to GATE --reason \"...\"`")
            }
            Self::CompletionReused { .. } => "give each completion an id of its own, or none".to_owned(),
            Self::NotAdopted { .. } => {
                "it is a hand-made file; the first command that changes it, or `aof watch`, puts it at its first gate"
                    .to_owned()
            }
            Self::UnknownWorkflow { known, workflow, .. } => {
                let meant = nearest(workflow, known.iter().map(String::as_str));
                let question = meant.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
                format!(
                    "{question}the rules in force have {}; commit a workflow of that name, or, as long as the task stands at no gate, \
                     name another in `routing.workflow`",
                    listed(known)
                )
            }
            Self::GateGone { task, known, .. } => format!(
                "move it to one of {} with `aof task override {task} --to GATE --reason \"...\"`",
                listed(known)
            ),
            Self::UnknownGate { given, known } => match nearest(given.as_str(), known.iter().map(GateId::as_str)) {
                Some(name) => format!("did you mean `{name}`? its gates are {}", listed(known)),
                None => format!("its gates are {}", listed(known)),
            },
            Self::NoGateApplies { workflow } => {
                format!("see the conditions with `aof workflow show {workflow}`, or choose another with `--workflow`")
            }
            Self::NotClaimed { .. } => "there is nothing to give back".to_owned(),
            Self::NotBlocked { task, .. } => format!("see what it waits for with `aof why {task}`"),
            Self::NotFinished { task, .. } => {
                format!("to move it against the workflow: `aof task override {task} --to GATE --reason \"...\"`")
            }
            Self::MissingReason { .. } => "add `--reason \"...\"`".to_owned(),
            Self::NotPermitted { act, agent } => {
                format!("ask a person, or allow it in org.yaml: `agents: {{{agent}: {{may: [{act}]}}}}`")
            }
            Self::Blocked { task, .. } => {
                format!("once that is settled, `aof task unblock {task}`; or complete it with the outcome it has now")
            }
        }
    }

    /// Returns a completion, or a command, that would be accepted in this one's place.
    pub fn example(&self) -> Option<Value> {
        match self {
            Self::MissingOutcome { valid, .. }
            | Self::InvalidOutcome { valid, .. }
            | Self::SkipNotAllowed { valid, .. } => valid.first().map(|outcome| sample(*outcome)),
            Self::RejectNotAllowed { valid, .. } => valid.last().map(|outcome| sample(*outcome)),
            Self::MissingSummary { outcome } | Self::MissingBlockers { outcome } | Self::EmptyBlockers { outcome } => {
                Some(sample(*outcome))
            }
            _ => None,
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

    /// Returns the fields beside code and message (spec 1, section 9).
    pub fn fields(&self) -> Vec<(&'static str, Value)> {
        match self {
            Self::MissingOutcome { gate, valid } => {
                vec![("requiredField", json!("outcome")), ("gate", text(gate)), ("validOutcomes", texts(valid))]
            }
            Self::InvalidOutcome { gate, valid, .. } => vec![("validOutcomes", texts(valid)), ("gate", text(gate))],
            Self::MissingSummary { .. } => vec![("requiredField", json!("summary"))],
            Self::MissingBlockers { .. } | Self::EmptyBlockers { .. } => vec![("requiredField", json!("blockers"))],
            Self::TooLong { field, bytes, limit } => {
                vec![("field", json!(field)), ("bytes", json!(bytes)), ("limit", json!(limit))]
            }
            Self::WrongTask { assigned, attempted } => {
                vec![("assignedTask", text(assigned)), ("attemptedTask", text(attempted))]
            }
            Self::AssignedToAnother { task, holder, agent } => {
                vec![("task", text(task)), ("assignedAgent", text(holder)), ("yourAgentId", text(agent))]
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
                vec![("gate", text(gate)), ("canReject", json!(false)), ("validOutcomes", texts(valid))]
            }
            Self::SkipNotAllowed { gate, valid, .. } => {
                vec![("gate", text(gate)), ("canSkip", json!(false)), ("validOutcomes", texts(valid))]
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
            Self::VisitEnded { task, visit, gate, agent, winner, outcome, at } => vec![
                ("task", text(task)),
                ("visit", json!(visit)),
                ("gate", text(gate)),
                ("winningAgent", winner.as_ref().map_or(Value::Null, text)),
                ("losingAgent", agent.as_ref().map_or(Value::Null, text)),
                ("outcome", json!(outcome)),
                ("exited", text(at)),
            ],
            Self::VisitAhead { task, visit, current } => {
                vec![("task", text(task)), ("visit", json!(visit)), ("currentVisit", json!(current))]
            }
            Self::Finished { task, status, at } => {
                vec![("task", text(task)), ("status", text(status)), ("since", text(at))]
            }
            Self::CompletionReused { id, task, visit } => {
                vec![("completionId", text(id)), ("task", text(task)), ("visit", json!(visit))]
            }
            Self::NotAdopted { task } | Self::NotClaimed { task } => vec![("task", text(task))],
            Self::UnknownWorkflow { task, workflow, known } => {
                vec![("task", text(task)), ("workflow", json!(workflow)), ("validWorkflows", json!(known))]
            }
            Self::GateGone { task, gate, known } => {
                vec![("task", text(task)), ("gate", text(gate)), ("validGates", texts(known))]
            }
            Self::UnknownGate { given, known } => vec![("gate", text(given)), ("validGates", texts(known))],
            Self::NoGateApplies { workflow } => vec![("workflow", json!(workflow))],
            Self::NotBlocked { task, status } => vec![("task", text(task)), ("status", text(status))],
            Self::NotFinished { task, gate } => vec![("task", text(task)), ("gate", text(gate))],
            Self::MissingReason { .. } => vec![("requiredField", json!("reason"))],
            Self::NotPermitted { agent, act } => vec![("yourAgentId", text(agent)), ("permission", text(act))],
            Self::Blocked { task, blockers } => vec![("task", text(task)), ("blockers", json!(blockers))],
        }
    }
}

fn text(value: &impl std::fmt::Display) -> Value {
    Value::String(value.to_string())
}

fn texts<T: std::fmt::Display>(values: &[T]) -> Value {
    values.iter().map(text).collect()
}

/// Returns one line for each outcome: when to use it.
fn meanings(outcomes: &[Outcome]) -> String {
    let lines: Vec<String> = outcomes.iter().map(|outcome| format!("  `{outcome}`  {}", meaning(*outcome))).collect();
    lines.join("\n")
}

/// Returns when to use an outcome, in general.
pub(super) const fn meaning(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "your work here is finished",
        Outcome::NeedsReview => "you found something that somebody else has to mend (list it in `blockers`)",
        Outcome::Blocked => "something outside stops you (name it in `blockers`)",
        Outcome::Skip => "this gate does not apply to the task",
    }
}

/// Returns the outcome that people mean by some other word.
fn synonym(word: &str) -> Option<&'static str> {
    match word.to_lowercase().as_str() {
        "done" | "finished" | "ok" | "pass" | "passed" | "approve" | "approved" | "success" | "lgtm" => {
            Some("complete")
        }
        "reject" | "rejected" | "fail" | "failed" | "changes_requested" | "needs_work" | "needs_fixes" => {
            Some("needs_review")
        }
        "stuck" | "waiting" | "hold" | "on_hold" => Some("blocked"),
        "skipped" | "n/a" => Some("skip"),
        _ => None,
    }
}

/// Returns a completion of that outcome which would be accepted.
fn sample(outcome: Outcome) -> Value {
    match outcome {
        Outcome::Complete => json!({
            "outcome": "complete",
            "summary": "Added login with tokens; 14 tests, coverage 85%",
        }),
        Outcome::NeedsReview => json!({
            "outcome": "needs_review",
            "summary": "Two things to mend before this can go on",
            "blockers": ["No error handling when the token has expired", "Coverage is 65%, the target is 80%"],
        }),
        Outcome::Blocked => json!({
            "outcome": "blocked",
            "summary": "Cannot go on without the interface description",
            "blockers": ["The platform team has not sent the interface description"],
        }),
        Outcome::Skip => json!({
            "outcome": "skip",
            "summary": "The change touches no documented behaviour",
        }),
    }
}
