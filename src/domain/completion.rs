//! A completion as it is delivered: what it says, what makes it count once, and what an operation looks up for it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{AgentId, CompletionId, Digest, GateId, Map, SshSignature, Status, TaskId, Ticket};

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
    pub content: CompletionContent,
    /// What makes this completion count once.
    pub id: CompletionId,
    /// The agent's signature of the entry that comes of it.
    pub signature: Option<SshSignature>,
    /// Facts that the operation looks up before it decides. They never come from the sender.
    pub facts: Box<Facts>,
}

/// What a completion says. Every door fills one, and hands it on whole.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompletionContent {
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
        let Self { ticket, gate: _, agent, content, id: _, signature: _, facts: _ } = self;
        let CompletionContent {
            outcome,
            summary,
            blockers,
            rejection_notes,
            outputs,
            metadata,
            body,
            fields,
        } = content;
        // Whoever delivers it again does so in another session.
        let mut metadata = metadata.clone();
        metadata.shift_remove("session");
        let mut digested = json!({
            "task": ticket.task,
            "agent": agent,
            "outcome": outcome,
            "summary": summary,
            "blockers": blockers,
            "rejectionNotes": rejection_notes,
            "outputs": sorted(&Value::Object(outputs.clone())),
            "metadata": sorted(&Value::Object(metadata)),
            "body": body,
        });
        if let Some(fields) = fields {
            digested["fields"] = sorted(&Value::Object(fields.fields.clone()));
        }
        Stamp { id: self.id.clone(), sha256: Digest::of(digested.to_string().as_bytes()) }
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

    fn completion(outputs: &Value) -> Completion {
        Completion {
            ticket: "AOF-abc@1".parse().unwrap(),
            gate: None,
            agent: "agent-7".parse().unwrap(),
            content: CompletionContent {
                outcome: Some("complete".to_owned()),
                summary: Some("done".to_owned()),
                outputs: outputs.as_object().cloned().unwrap_or_default(),
                ..CompletionContent::default()
            },
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
        two.content.summary = Some("Done".to_owned());
        assert_ne!(one.stamp().sha256, two.stamp().sha256);
        let text = one.stamp().sha256;
        assert_eq!(text.as_str().parse::<Digest>(), Ok(text));
    }
}
