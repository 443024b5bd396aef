//! Refusals: the problem, the reason, the fix, and an example (spec 1, section 9).
//!
//! A refusal changes nothing. Its code and fields are stable; its sentences are for people.

mod fields;
pub(crate) mod fix;

use serde_json::{Value, json};

use super::outputs::Problem;
use aof_domain::{
    Advice, AgentId, Blocker, CheckResults, CompletionId, Ending, Fix, GateCheck, GateId, Identity,
    Outcome, Permission, PublicKey, Remedy, RoleId, Station, Status, TaskId, Ticket, Timestamp,
    Visit, WorkflowName, advice, listed, nearest,
};

/// The namespace of our signatures: a signature for git or for a file does not count.
pub const NAMESPACE: &str = "aof";

/// The reason why an act was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    #[error("gate `{gate}` wants an outcome, and none was given")]
    MissingOutcome { gate: Station, valid: Vec<Outcome> },
    /// Spec 1, 9.1.
    #[error("`{given}` is not an outcome of gate `{gate}`")]
    InvalidOutcome { given: String, gate: Station, valid: Vec<Outcome> },
    /// Spec 1, 9.2.
    #[error("the `summary` is missing: nobody could tell later what was done")]
    MissingSummary { outcome: Outcome },
    /// Spec 1, 9.3.
    #[error("outcome `{outcome}` needs `blockers`, and none were given")]
    MissingBlockers { outcome: Outcome },
    /// Spec 1, 9.4.
    #[error("`blockers` is there, but it names nothing")]
    EmptyBlockers { outcome: Outcome },
    #[error("`{field}` has {bytes} bytes, and the limit is {limit}")]
    TooLong { field: &'static str, bytes: usize, limit: usize },
    #[error("the outcome is `{outcome}`, and `$status` in the outputs says `{status}`")]
    ContradictoryStatus { outcome: String, status: String },
    #[error("the outcome is `{outcome}`, and the text that comes with it says `{verdict}`")]
    ContradictoryVerdict { gate: Station, outcome: Outcome, verdict: Outcome },
    #[error("{} with the outputs for `{outcome}` at gate `{gate}`", wrong_things(.problems.len()))]
    InvalidOutputs {
        gate: Station,
        outcome: Outcome,
        problems: Vec<Problem>,
        example: Box<serde_json::Value>,
    },
    #[error("a task of workflow `{workflow}` begins with {}, and nobody said it", listed(.missing))]
    MissingInput { workflow: WorkflowName, missing: Vec<String> },
    #[error("a task of workflow `{workflow}` does not begin with {}", listed(.given))]
    UnknownInput { workflow: WorkflowName, given: Vec<String>, known: Vec<String> },
    /// Spec 1, 9.6; `role` is the refusal that the agent would get for the other task without its own.
    #[error("you tried to complete `{attempted}`, and your task is `{assigned}`{}", besides(.role.as_deref()))]
    WrongTask { assigned: TaskId, attempted: TaskId, role: Option<Box<Refusal>> },
    #[error("task `{ticket}` is assigned to `{holder}`")]
    AssignedToAnother { ticket: Ticket, holder: AgentId, agent: AgentId },
    #[error(
        "your claim of task `{ticket}` ended because nobody renewed it, and `{holder}` has it now"
    )]
    ClaimLost { ticket: Ticket, holder: AgentId, agent: AgentId },
    #[error("task `{task}` is held: {}", Blocker::joined(.reasons))]
    Held { task: TaskId, reasons: Vec<Blocker> },
    #[error("{}", not_due(.ticket, *.at))]
    NotDue { ticket: Ticket, at: Option<Timestamp> },
    /// Spec 1, 9.13.
    #[error("gate `{gate}` is the work of role `{role}`, and `{agent}` is in {}", roles_or_none(.roles))]
    WrongRole {
        task: TaskId,
        gate: Station,
        role: RoleId,
        agent: AgentId,
        roles: Vec<RoleId>,
        members: Vec<AgentId>,
    },
    /// Spec 1, 9.10.
    #[error(
        "gate `{gate}` does not send tasks back (`canReject` is false), so `needs_review` means nothing here"
    )]
    RejectNotAllowed { gate: Station, valid: Vec<Outcome> },
    #[error("gate `{gate}` {}", no_skip(*.human))]
    SkipNotAllowed { gate: Station, human: bool, valid: Vec<Outcome> },
    /// Spec 1, 9.11.
    #[error("gate `{gate}` is for people, and `{agent}` is not one")]
    HumanRequired { gate: Station, role: RoleId, agent: AgentId, people: Vec<AgentId> },
    /// Spec 1, 9.9.
    #[error(
        "task `{task}` was sent back to gate `{gate}` {count} times and waits for a person to look at it"
    )]
    CircularLoop { task: TaskId, gate: GateId, count: u32 },
    #[error("gate `{gate}` waits for the children of task `{task}`: {}", states(.children))]
    ChildrenOpen { task: TaskId, gate: GateId, children: Vec<(TaskId, Status)> },
    #[error("gate `{gate}` checks task `{task}` before it is passed, and that has not been done: {}", listed(.checks))]
    ChecksDue { task: TaskId, gate: GateId, checks: Vec<GateCheck> },
    #[error("gate `{gate}` checks task `{task}` before it is passed: {}", first_failures(.failures))]
    ChecksFailed { task: TaskId, gate: GateId, results: CheckResults, failures: Vec<String> },
    /// Spec 1, 9.14.
    #[error("`{ticket}` at gate `{gate}` has ended: {}", how_it_ended(.winner.as_ref(), .outcome, *.at))]
    VisitEnded {
        ticket: Ticket,
        gate: Station,
        agent: Option<AgentId>,
        winner: Option<AgentId>,
        outcome: String,
        at: Timestamp,
    },
    #[error(
        "`{agent}` ended gate `{gate}` with `{outcome}` at {at}; said once more without a ticket, that would end gate `{open}` as well"
    )]
    Repeated {
        /// The ticket of the open visit.
        ticket: Ticket,
        open: GateId,
        /// The gate whose visit the sender has ended.
        gate: Station,
        agent: AgentId,
        outcome: String,
        at: Timestamp,
    },
    #[error("task `{}` is at gate `{current}`, not at `{given}`", .ticket.task)]
    OtherGate { ticket: Ticket, given: GateId, current: GateId },
    #[error("`{task}` has no visit {visit} yet: the open one is `{task}@{current}`")]
    VisitAhead { task: TaskId, visit: usize, current: usize },
    #[error("task `{task}` has ended: it is `{status}` since {at}")]
    Finished { task: TaskId, status: Status, at: Timestamp },
    #[error(
        "completion id `{id}` stands in the history of `{task}` (visit {visit}) with another content"
    )]
    CompletionReused { id: CompletionId, task: TaskId, visit: usize },
    #[error("task `{task}` does not stand at a gate yet")]
    NotAdopted { task: TaskId },
    #[error("task `{task}` follows workflow `{workflow}`, which the rules in force do not have")]
    UnknownWorkflow { task: TaskId, workflow: String, known: Vec<String> },
    #[error("task `{task}` stands at gate `{gate}`, which its workflow no longer has")]
    GateGone { task: TaskId, gate: GateId, known: Vec<GateId> },
    #[error("there is no gate `{given}` in the task's workflow")]
    UnknownGate { given: GateId, known: Vec<GateId> },
    #[error("workflow `{workflow}` is not for `{agent}`")]
    NotVisible { workflow: WorkflowName, agent: AgentId, viewers: Vec<String> },
    #[error("no gate of workflow `{workflow}` applies to this task: every `when` is false")]
    NoGateApplies { workflow: String },
    #[error("nobody has claimed task `{task}`")]
    NotClaimed { task: TaskId },
    #[error("task `{task}` is at gate `{gate}`, which decides by itself")]
    NobodyWorksHere { task: TaskId, gate: GateId },
    #[error("task `{task}` is at gate `{gate}`, where somebody has to decide")]
    NotAutomatic { task: TaskId, gate: GateId },
    #[error("{}", not_separate(.task, .gate, .agent, *.by, .worked_at))]
    NotSeparate { task: TaskId, gate: Station, agent: AgentId, by: Identity, worked_at: GateId },
    #[error("task `{task}` is not blocked: it is `{status}`")]
    NotBlocked { task: TaskId, status: Status },
    #[error("task `{task}` has not ended: it is at gate `{gate}`")]
    NotFinished { task: TaskId, gate: GateId },
    #[error("`{act}` wants a reason: {}", if *.act == "hold" { "whoever works at the task reads it" } else { "it goes into the history" })]
    MissingReason { act: &'static str },
    #[error("`{agent}` may not {}: that is for people", forbidden(*.act))]
    NotPermitted { agent: AgentId, act: Permission },
    #[error("task `{ticket}` is blocked: {}", Blocker::joined(.blockers))]
    Blocked { ticket: Ticket, blockers: Vec<Blocker> },
    #[error(
        "task `{task}` is at gate `{gate}`, where several branches are open: say which one you mean"
    )]
    BranchNeeded { task: TaskId, gate: GateId, open: Vec<(Ticket, RoleId)> },
    #[error(
        "task `{task}` is at gate `{gate}`, and none of the branches that are open there is for `{agent}`"
    )]
    NotYourBranch { task: TaskId, gate: GateId, agent: AgentId, open: Vec<(Ticket, RoleId)> },
    #[error("task `{}` is at gate `{gate}`, and no branch{} is open there", .ticket.task, branch_name(.ticket))]
    NoSuchBranch { ticket: Ticket, gate: GateId, open: Vec<(Ticket, RoleId)> },
    #[error("`{act}` is about the whole task, and `{ticket}` names a branch of it")]
    NotOfABranch { ticket: Ticket, act: Remedy },
    #[error(
        "gate `{gate}` became a fork while task `{task}` stood there, and its branches never opened"
    )]
    BranchesNotOpen { task: TaskId, gate: GateId },
    #[error("{0}")]
    Signature(Box<ToSign>),
}

/// The text to sign for a completion, the signer, and the flaw of the present signature.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", flawed(self))]
pub struct ToSign {
    pub flaw: Flaw,
    /// The visit that the completion ends.
    pub ticket: Ticket,
    pub agent: AgentId,
    /// The completion's id, which is signed with it.
    pub completion: CompletionId,
    /// The keys that may sign it.
    pub keys: Vec<PublicKey>,
    pub text: String,
}

/// The flaw of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// There is no signature, and the agent has a key.
    Missing,
    /// It was made for another use.
    OtherUse { namespace: String },
    /// It was made with a key that is not the agent's.
    OtherKey { key: PublicKey },
    /// Another text was signed.
    OtherText,
    /// The agent has no key to check the signature with.
    NoKey { key: PublicKey },
    /// A browser did not verify the user.
    NotVerified,
    /// It was requested by a page that org.yaml does not list.
    OtherOrigin { origin: String },
}

/// The family of a refusal, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The rules forbid it.
    Refused,
    /// The task has moved on.
    Conflict,
}

impl Refusal {
    /// Returns the conflict with the entry that ended the ticket's visit.
    pub(crate) fn visit_ended(ticket: &Ticket, entry: &Visit, agent: Option<&AgentId>) -> Self {
        Self::VisitEnded {
            ticket: ticket.clone(),
            gate: entry.station(),
            // An agent that repeats its own completion has lost to no other agent.
            agent: agent.filter(|agent| entry.agent.as_ref() != Some(agent)).cloned(),
            winner: entry.agent.clone(),
            outcome: entry.outcome.to_string(),
            at: entry.exited,
        }
    }

    pub const fn kind(&self) -> RefusalKind {
        match self {
            Self::VisitEnded { .. }
            | Self::Repeated { .. }
            | Self::OtherGate { .. }
            | Self::VisitAhead { .. }
            | Self::Finished { .. }
            | Self::ClaimLost { .. }
            | Self::NotDue { .. } => RefusalKind::Conflict,
            _ => RefusalKind::Refused,
        }
    }

    /// Returns the problem and its reason in one sentence.
    pub fn problem(&self) -> String {
        self.to_string()
    }

    /// Returns the whole text: the problem, the fix with operations as `show` names them, and the example if there is one.
    pub fn message(&self, show: impl Fn(&Fix) -> String) -> String {
        let mut text = format!("{}\n\n{}", self.problem(), self.fix().render(show));
        if let Some(example) = self.example() {
            text.push_str("\n\nExample:\n");
            text.push_str(&serde_json::to_string_pretty(&example).unwrap_or_default());
        }
        text
    }
}

fn wrong_things(count: usize) -> String {
    if count == 1 { "one thing is wrong".to_owned() } else { format!("{count} things are wrong") }
}

/// The most failures of checks that a refusal shows.
const MOST_FAILURES: usize = 10;

/// Returns the failures of checks, as text.
fn first_failures(failures: &[String]) -> String {
    let shown = failures.iter().take(MOST_FAILURES).map(String::as_str);
    let mut text = shown.collect::<Vec<_>>().join("; ");
    if failures.len() > MOST_FAILURES {
        text.push_str(&format!("; and {} more", failures.len() - MOST_FAILURES));
    }
    text
}

/// Returns the children that have not ended, each with its state.
fn states(children: &[(TaskId, Status)]) -> String {
    let state = |(child, status): &(TaskId, Status)| format!("`{child}` ({status})");
    children.iter().map(state).collect::<Vec<_>>().join(", ")
}

/// Returns the advice for children that have not ended.
fn about_children(task: &TaskId, children: &[(TaskId, Status)]) -> Advice {
    let failed = children.iter().find(|(_, status)| *status == Status::Failed);
    let waits =
        advice!["say it again once they are complete or cancelled: ", Remedy::Why.on(task),];
    match failed {
        None => waits,
        Some((child, _)) => advice![
            "a failed child counts as open: take it up again with ",
            Remedy::Reopen.on(child).asked("to").asked("reason"),
            ", and complete or cancel it; ",
            waits,
        ],
    }
}

fn besides(role: Option<&Refusal>) -> String {
    role.map(|role| format!("; besides, {role}")).unwrap_or_default()
}

fn not_due(ticket: &Ticket, at: Option<Timestamp>) -> String {
    match at {
        Some(at) => format!("the time of `{ticket}` runs until {at}"),
        None => format!("no time limit runs for `{ticket}`"),
    }
}

fn roles_or_none(roles: &[RoleId]) -> String {
    if roles.is_empty() { "no role".to_owned() } else { listed(roles) }
}

const fn no_skip(human: bool) -> &'static str {
    if human {
        "is for people, and such a gate is never skipped by an outcome"
    } else {
        "cannot be skipped by an outcome (`canSkip` is false)"
    }
}

fn how_it_ended(winner: Option<&AgentId>, outcome: &str, at: Timestamp) -> String {
    if outcome == Ending::Timeout.as_str() {
        return format!("it took too long, and another role stepped in at {at}");
    }
    if outcome == Ending::Moved.as_str() {
        return format!("the rules changed, and the task was moved at {at}");
    }
    let who = winner.map_or_else(|| "somebody".to_owned(), |winner| format!("`{winner}`"));
    format!("{who} ended it with `{outcome}` at {at}")
}

fn not_separate(
    task: &TaskId,
    gate: &Station,
    agent: &AgentId,
    by: Identity,
    worked_at: &GateId,
) -> String {
    match by {
        Identity::Agent => format!(
            "`{agent}` worked on task `{task}` at gate `{worked_at}`, and gate `{gate}` is for somebody else"
        ),
        Identity::Session => format!(
            "gate `{gate}` wants another session than the one that worked on task `{task}` at gate `{worked_at}`"
        ),
    }
}

fn forbidden(act: Permission) -> String {
    match act {
        Permission::New => "create tasks".to_owned(),
        act => format!("{act} this task"),
    }
}

fn branch_name(ticket: &Ticket) -> String {
    ticket.branch.as_ref().map(|branch| format!(" `{branch}`")).unwrap_or_default()
}

fn flawed(wanted: &ToSign) -> String {
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
            let key = key.fingerprint();
            format!("the signature was made with the key `{key}`, which is not `{agent}`'s")
        }
        Flaw::OtherText => format!(
            "the signature is of something else than this completion of `{ticket}`: of another visit, another project, other \
             rules, or other words"
        ),
        Flaw::NoKey { .. } => format!(
            "the completion is signed, and org.yaml has no `signingKey` of `{agent}` that the signature could be checked with"
        ),
        Flaw::NotVerified => format!(
            "the passkey signed this completion of `{ticket}` without checking who was there (a PIN, a finger, a face)"
        ),
        Flaw::OtherOrigin { origin } => format!(
            "the page `{}` asked for the signature, and org.yaml does not list it in `passkeyOrigins`",
            origin.escape_debug()
        ),
    }
}

/// Returns the advice for signing the completion.
fn of_signature(wanted: &ToSign) -> Advice {
    let key = |key: &PublicKey| format!("  {} {}", key.fingerprint(), key.comment());
    let keys: Vec<String> = wanted.keys.iter().map(|one| key(one).trim_end().to_owned()).collect();
    let keys = keys.join("\n");
    match &wanted.flaw {
        Flaw::Missing | Flaw::OtherText => advice![
            Remedy::Complete,
            " signs by itself, through the ssh agent or with the key file that `--sign-with FILE` names; ",
            Fix::from(Remedy::Sign).chosen("file"),
            format!(
                " signs a completion file; or sign `toSign` with `ssh-keygen -Y sign -n {NAMESPACE}`, and send the same \
                 completion again with its `id` and the `signature`. Its keys are\n{keys}"
            ),
        ],
        Flaw::OtherUse { .. } => advice![
            format!("sign with `ssh-keygen -Y sign -n {NAMESPACE}`, or by "),
            Remedy::Complete,
        ],
        Flaw::OtherKey { .. } => format!("sign with one of these:\n{keys}").into(),
        Flaw::NotVerified => "sign again, and let the browser check you".into(),
        Flaw::OtherOrigin { origin } => format!(
            "if the page is yours, have it committed in org.yaml: `passkeyOrigins: [\"{}\"]`",
            origin.escape_debug()
        )
        .into(),
        Flaw::NoKey { key } => format!(
            "leave the signature out; or have the key committed in org.yaml: `agents: {{{}: {{signingKey: \"{key}\"}}}}`",
            wanted.agent
        )
        .into(),
    }
}

/// Returns an acceptable completion with that outcome.
fn sample(outcome: &Outcome) -> Value {
    let summary = match outcome {
        Outcome::Complete => "Added login with tokens; 14 tests, coverage 85%",
        Outcome::NeedsReview => "Two things to fix before this can go on",
        Outcome::Blocked => "Cannot go on without the interface description",
        Outcome::Skip => "The change touches no documented behaviour",
        Outcome::Failed => "The build broke three times; the log is in build.log",
        Outcome::Decision(_) => "Looked at everything that the brief names",
    };
    let mut completion = json!({"outcome": outcome, "summary": summary});
    let blockers: &[&str] = match outcome {
        Outcome::NeedsReview => {
            &["No error handling when the token has expired", "Coverage is 65%, the target is 80%"]
        }
        Outcome::Blocked => &["The platform team has not sent the interface description"],
        _ => return completion,
    };
    completion["blockers"] = json!(blockers);
    completion
}

impl Refusal {
    /// Returns the outcome that an invalid word probably means.
    pub fn meant(&self) -> Option<&Outcome> {
        match self {
            Self::InvalidOutcome { given, valid, .. } => meant_outcome(given, valid),
            _ => None,
        }
    }
}

/// Returns the outcome that an invalid word probably means.
pub(crate) fn meant_outcome<'a>(given: &str, valid: &'a [Outcome]) -> Option<&'a Outcome> {
    let word = nearest(given, valid.iter().map(Outcome::as_str));
    let word = word.filter(|word| !is_negation(given, word)).or_else(|| synonym(given))?;
    valid.iter().find(|outcome| outcome.as_str() == word)
}

/// Returns whether one of two words negates the other: `not_approved` does not mean `approved`.
fn is_negation(one: &str, other: &str) -> bool {
    let letters = |word: &str| word.to_lowercase().replace(|c: char| !c.is_alphabetic(), "");
    let (one, other) = (letters(one), letters(other));
    let negates = |long: &str, short: &str| {
        let prefixes = ["not", "non", "no", "un", "in", "dis", "never"];
        prefixes.iter().any(|prefix| {
            long.strip_prefix(prefix).is_some_and(|rest| {
                // `uncompleted` negates `complete`.
                rest.starts_with(short) && rest.len() <= short.len() + 2
            })
        })
    };
    negates(&one, &other) || negates(&other, &one)
}

/// Returns the outcome that people mean by a common other word.
fn synonym(word: &str) -> Option<&'static str> {
    match word.to_lowercase().as_str() {
        "done" | "finished" | "ok" | "pass" | "passed" | "approve" | "approved" | "success"
        | "lgtm" => Some("complete"),
        "reject" | "rejected" | "fail" | "failed" | "changes_requested" | "needs_work"
        | "needs_fixes" => Some("needs_review"),
        "stuck" | "waiting" | "hold" | "on_hold" => Some("blocked"),
        "skipped" | "n/a" => Some("skip"),
        _ => None,
    }
}
