//! Outcomes of completions, endings of visits, and the status of tasks.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::words::words;
use super::{
    AgentId, CompletionId, Decision, Digest, GateId, IdFault, Map, SshSignature, TaskId, Ticket,
};

/// What a completion says (spec 1, 2.3): a word that every workflow has, or a decision of the gate's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// The work of the gate is done.
    Complete,
    /// A reviewer found what somebody else must mend.
    NeedsReview,
    /// Something outside stands in the way.
    Blocked,
    /// The gate does not apply to this task.
    Skip,
    /// The agent failed; only where the gate says what that leads to.
    Failed,
    /// One of the gate's own.
    Decision(Decision),
}

impl Outcome {
    /// The words that are built in.
    pub const BUILT_IN: &[Self] =
        &[Self::Complete, Self::NeedsReview, Self::Blocked, Self::Skip, Self::Failed];

    /// Returns the word that stands for it in files and on the command line.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Complete => "complete",
            Self::NeedsReview => "needs_review",
            Self::Blocked => "blocked",
            Self::Skip => "skip",
            Self::Failed => "failed",
            Self::Decision(decision) => decision.as_str(),
        }
    }

    /// Returns whether it judges the work; the others mean that there is no result.
    pub fn judges(&self) -> bool {
        !matches!(self, Self::Blocked | Self::Skip | Self::Failed)
    }

    /// Returns whether a completion with it has to name blockers.
    pub fn needs_blockers(&self) -> bool {
        matches!(self, Self::NeedsReview | Self::Blocked)
    }

    /// Returns whether the word means this outcome: built-in words are exact, decisions have no case.
    pub fn is_meant_by(&self, word: &str) -> bool {
        match self {
            Self::Decision(decision) => decision.as_str().eq_ignore_ascii_case(word),
            built_in => built_in.as_str() == word,
        }
    }
}

/// Returns the outcome that approves the work: `complete`, or the decision of that name.
pub fn approving(outcomes: &[Outcome]) -> Option<&Outcome> {
    meant(outcomes, &["complete", "approve", "approved"])
}

/// Returns the outcome that rejects the work: `needs_review`, or the decision of that name.
pub fn rejecting(outcomes: &[Outcome]) -> Option<&Outcome> {
    meant(outcomes, &["needs_review", "reject", "rejected"])
}

fn meant<'o>(outcomes: &'o [Outcome], words: &[&str]) -> Option<&'o Outcome> {
    let mut found = words.iter().map(|word| outcomes.iter().find(|own| own.is_meant_by(word)));
    found.find_map(|outcome| outcome)
}

impl FromStr for Outcome {
    type Err = IdFault;

    fn from_str(text: &str) -> Result<Self, IdFault> {
        match Self::BUILT_IN.iter().find(|outcome| outcome.as_str() == text) {
            Some(outcome) => Ok(outcome.clone()),
            None => text.parse().map(Self::Decision),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

words!(
    /// Where a task stands.
    Status, "a status", {
        /// It waits for an agent.
        Ready = "ready",
        /// An agent has it.
        InProgress = "in_progress",
        /// It waits for something outside, or for a person.
        Blocked = "blocked",
        /// It went through all its gates.
        Complete = "complete",
        /// It ended without reaching its goal.
        Failed = "failed",
        /// A person called it off.
        Cancelled = "cancelled",
    }
);

impl Status {
    /// Returns whether the task has ended.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Complete | Self::Failed | Self::Cancelled)
    }
}

/// How a visit ended: what its completion said, or what ended it from outside.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ending {
    /// A completion said so.
    Completed(Outcome),
    /// The task was called off.
    Cancelled,
    /// It took too long, and another role steps in.
    Timeout,
    /// The gate left the workflow.
    Moved,
    /// A person with the right moved the task.
    Override,
    /// A finished task was taken up again.
    Reopened,
}

impl Ending {
    /// The endings that no completion said.
    const FROM_OUTSIDE: &[Self] =
        &[Self::Cancelled, Self::Timeout, Self::Moved, Self::Override, Self::Reopened];

    /// Returns the word that stands in the history's `outcome`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Completed(outcome) => outcome.as_str(),
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::Moved => "moved",
            Self::Override => "override",
            Self::Reopened => "reopened",
        }
    }
}

impl FromStr for Ending {
    type Err = IdFault;

    fn from_str(text: &str) -> Result<Self, IdFault> {
        match Self::FROM_OUTSIDE.iter().find(|ending| ending.as_str() == text) {
            Some(ending) => Ok(ending.clone()),
            None => text.parse().map(Self::Completed),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The longest text that a completion may bring for the body of a task, in bytes.
pub const BODY_LIMIT: usize = 64 * 1024;

/// A completion as delivered: only its shape has been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// The task, or the visit of it, that is meant.
    pub ticket: Ticket,
    /// The gate that must be open, where the sender named one.
    pub gate: Option<GateId>,
    pub agent: AgentId,
    /// The outcome's word; what it may be depends on the gate.
    pub outcome: Option<String>,
    pub summary: Option<String>,
    /// What blocks the work, or has to be fixed. An empty list is an error of its own.
    pub blockers: Option<Vec<String>>,
    /// What a reviewer adds for whoever mends it.
    pub rejection_notes: Option<String>,
    /// What the gate hands on.
    pub outputs: Map,
    /// What the agent adds for the record.
    pub metadata: Map,
    /// A text for the task's body.
    pub body: Option<String>,
    /// Fields that are none of a completion's own; whether they are outputs is the gate's decision.
    pub fields: Option<Box<ReplyFields>>,
    /// What makes this completion count once.
    pub id: CompletionId,
    /// The agent's signature of the entry that comes of it.
    pub signature: Option<SshSignature>,
    /// Facts that the operation looks up before it decides. They never come from the sender.
    pub facts: Box<Facts>,
}

impl Completion {
    /// Returns whether the sender says which visit is meant, by its number or its gate.
    pub fn names_visit(&self) -> bool {
        self.gate.is_some() || self.ticket.visit.is_some() && !self.facts.is_bound
    }
}

/// What the checks of a gate found. The entry keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CheckResults {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checklist: Option<ChecklistCount>,
}

impl CheckResults {
    /// Returns whether no check has run.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How many acceptance tests of a task passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestCount {
    pub passed: u32,
    pub failed: u32,
    pub not_runnable: u32,
}

/// How many boxes of a task's text are ticked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChecklistCount {
    pub done: u32,
    pub open: u32,
}

impl ChecklistCount {
    pub fn of(done: usize, open: usize) -> Self {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Self { done: number(done), open: number(open) }
    }

    pub fn total(self) -> u32 {
        self.done.saturating_add(self.open)
    }
}

/// What the rules need to know besides the task when they decide a completion. The operation looks it up; a replay takes it from
/// the entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The task's children with their states; looked up only at a gate that waits for them.
    pub children: BTreeMap<TaskId, Status>,
    /// What the checks of the gate found; empty before they have run.
    pub checks: CheckResults,
    /// Each thing that they found wrong, for the refusal.
    pub failures: Vec<String>,
    /// True if a door found the visit because the sender named none.
    pub is_bound: bool,
}

/// The status of an agent that cannot go on, among outputs: it is blocked.
pub(crate) const SUSPEND: &str = "$SUSPEND";

/// The fields of a reply besides those of a completion: the frontmatter of its text, or the rest of an object.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplyFields {
    pub fields: Map,
    /// Why the fields cannot be read.
    pub fault: Option<String>,
    /// How many bytes of the body it takes up; none where it was cut off already.
    pub length: usize,
}

/// A completion's mark in the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    pub id: CompletionId,
    /// The digest of what it said.
    pub sha256: Digest,
}

impl Completion {
    /// Returns the stamp for the history: the id, and a digest of everything except what names the visit, and the signature. So a
    /// redelivery with or without a ticket is the same completion.
    pub fn stamp(&self) -> Stamp {
        // Whoever delivers it again does so in another session.
        let mut metadata = self.metadata.clone();
        metadata.shift_remove("session");
        let mut said = json!({
            "task": self.ticket.task,
            "agent": self.agent,
            "outcome": self.outcome,
            "summary": self.summary,
            "blockers": self.blockers,
            "rejectionNotes": self.rejection_notes,
            "outputs": sorted(&Value::Object(self.outputs.clone())),
            "metadata": sorted(&Value::Object(metadata)),
            "body": self.body,
        });
        if let Some(own) = &self.fields {
            said["fields"] = sorted(&Value::Object(own.fields.clone()));
        }
        Stamp { id: self.id.clone(), sha256: Digest::of(said.to_string().as_bytes()) }
    }
}

/// Returns the value with the keys of every object in order: two ways to write one thing have one digest.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().map(|(k, v)| (k.clone(), sorted(v))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        let decision = Outcome::Decision("needs_fixes".parse().unwrap());
        for outcome in Outcome::BUILT_IN.iter().chain([&decision]) {
            assert_eq!(outcome.as_str().parse::<Outcome>().as_ref(), Ok(outcome));
            assert_eq!(outcome.as_str().parse::<Ending>(), Ok(Ending::Completed(outcome.clone())));
        }
        for ending in Ending::FROM_OUTSIDE {
            assert_eq!(ending.as_str().parse::<Ending>().as_ref(), Ok(ending));
        }
        for text in ["", "_", "no way", "Complete", "MOVED", "a\n"] {
            assert!(text.parse::<Outcome>().is_err(), "{text:?} must not be a decision");
        }
        assert!(decision.is_meant_by("Needs_Fixes") && !Outcome::Complete.is_meant_by("COMPLETE"));
    }
}

#[cfg(test)]
mod completion_tests {
    use super::*;

    fn completion(outputs: &Value) -> Completion {
        Completion {
            ticket: "AOF-abc@1".parse().unwrap(),
            gate: None,
            agent: "agent-7".parse().unwrap(),
            outcome: Some("complete".to_owned()),
            summary: Some("done".to_owned()),
            blockers: None,
            rejection_notes: None,
            outputs: outputs.as_object().cloned().unwrap_or_default(),
            metadata: Map::new(),
            body: None,
            fields: None,
            id: "c1".parse().unwrap(),
            signature: None,
            facts: Box::default(),
        }
    }

    #[test]
    fn the_digest_is_of_what_was_said_not_how() {
        let one = completion(&json!({"a": 1, "b": {"x": 1, "y": 2}}));
        let mut two = completion(&json!({"b": {"y": 2, "x": 1}, "a": 1}));
        two.ticket.visit = None;
        assert_eq!(one.stamp(), two.stamp());
        two.summary = Some("Done".to_owned());
        assert_ne!(one.stamp().sha256, two.stamp().sha256);
        let text = one.stamp().sha256;
        assert_eq!(text.as_str().parse::<Digest>(), Ok(text));
    }
}
