//! A completion as it is delivered: its content, its id, and the facts that an operation looks up for it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    AgentId, CompletionId, Digest, GateId, Landing, Map, SshSignature, Status, TaskId, Ticket,
    WorkBranch,
};

/// The longest text that a completion may bring for the body of a task, in bytes.
pub const BODY_LIMIT: usize = 64 * 1024;

/// A completion as delivered: only its shape has been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// The task, or a visit of it, that the completion is for.
    pub ticket: Ticket,
    /// The gate that must be open, if the sender named one.
    pub gate: Option<GateId>,
    pub agent: AgentId,
    pub content: CompletionContent,
    /// The id by which a completion that is delivered again counts once.
    pub id: CompletionId,
    /// The agent's signature of the entry that the completion becomes.
    pub signature: Option<SshSignature>,
    /// Facts that the operation looks up before it decides. They never come from the sender.
    pub facts: Box<Facts>,
}

/// The content of a completion. Every door fills one, and hands it on whole.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompletionContent {
    /// The word of the outcome; the gate decides which words are allowed.
    pub outcome: Option<String>,
    pub summary: Option<String>,
    /// The things that block the work or must be fixed. An empty list is an error of its own.
    pub blockers: Option<Vec<String>>,
    /// A reviewer's notes for the agent that fixes the work.
    pub rejection_notes: Option<String>,
    /// The values that the gate hands on.
    pub outputs: Map,
    /// The agent's additions to the record.
    pub metadata: Map,
    /// A text for the task's body.
    pub body: Option<String>,
    /// Fields that a completion does not define; the gate decides if they are outputs.
    pub fields: Option<Box<ReplyFields>>,
}

impl Completion {
    /// Returns whether the sender identified the visit, by its number or its gate.
    pub fn names_visit(&self) -> bool {
        self.gate.is_some() || self.ticket.visit.is_some() && !self.facts.is_bound
    }
}

/// The results of the checks of a gate. The entry keeps them.
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

/// The number of acceptance tests of a task by result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestCount {
    pub passed: u32,
    pub failed: u32,
    pub not_runnable: u32,
}

/// The number of ticked and of open boxes in a task's text.
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

/// Facts besides the task that the rules need to decide a completion. The operation looks them up; a replay takes them from the
/// entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The task's children with their states; looked up only at a gate that waits for them.
    pub children: BTreeMap<TaskId, Status>,
    /// The results of the gate's checks; empty before they have run.
    pub checks: CheckResults,
    /// Each fault that the checks found, for the refusal.
    pub failures: Vec<String>,
    /// The branch of the task's work.
    pub work: Option<Box<WorkBranch>>,
    /// The landing of the work.
    pub landed: Option<Box<Landing>>,
    /// True if a door found the visit because the sender named none.
    pub is_bound: bool,
}

/// The status, among outputs, of an agent that cannot go on: the agent is blocked.
pub const SUSPEND: &str = "$SUSPEND";

/// The fields of a reply besides those of a completion: the frontmatter of its text, or the rest of an object.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplyFields {
    pub fields: Map,
    /// The reason why the fields cannot be read.
    pub fault: Option<String>,
    /// The number of bytes that they take up in the body; 0 if they were cut off already.
    pub length: usize,
}

/// A completion's mark in the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    pub id: CompletionId,
    /// The digest of the completion's content.
    pub sha256: Digest,
}

impl Completion {
    /// Returns the stamp for the history: the id, and a digest of everything except the signature and the parts that name the
    /// visit. So a redelivery with or without a ticket is the same completion.
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
        // The session differs when a completion is delivered again.
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

/// Returns the value with the keys of every object in order: equal objects then have one digest, in whatever order their keys are
/// written.
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
    fn the_digest_covers_content_not_form() {
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
