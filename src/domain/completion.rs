//! What an agent says of a visit, and the digest that makes a redelivery recognisable.

use serde_json::{Value, json};

use super::{AgentId, CompletionId, Digest, Map, Signature, Ticket};

/// The longest text that a completion may bring for the body of a task, in bytes.
pub const BODY_LIMIT: usize = 64 * 1024;

/// A completion as it came: nothing in it has been judged yet but its shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// The task, or the visit of it, that is meant.
    pub ticket: Ticket,
    pub agent: AgentId,
    /// The outcome's word; what it may be depends on the gate.
    pub outcome: Option<String>,
    pub summary: Option<String>,
    /// What stands in the way, or must be mended. An empty list is a mistake of its own.
    pub blockers: Option<Vec<String>>,
    /// What a reviewer adds for whoever mends it.
    pub rejection_notes: Option<String>,
    /// What the gate hands on.
    pub outputs: Map,
    /// What the agent adds for the record.
    pub metadata: Map,
    /// A text for the task's body.
    pub body: Option<String>,
    /// What makes this completion count once.
    pub id: CompletionId,
    /// The agent's signature of the entry that comes of it.
    pub signature: Option<Signature>,
}

/// A completion's mark in the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    pub id: CompletionId,
    /// The digest of what it said.
    pub sha256: Digest,
}

impl Completion {
    /// Returns the mark that the history keeps: the id, and the digest of all that was said but the visit's number and the
    /// signature. A redelivery with or without a ticket is the same completion.
    pub fn stamp(&self) -> Stamp {
        let said = json!({
            "task": self.ticket.task,
            "agent": self.agent,
            "outcome": self.outcome,
            "summary": self.summary,
            "blockers": self.blockers,
            "rejectionNotes": self.rejection_notes,
            "outputs": sorted(&Value::Object(self.outputs.clone())),
            "metadata": sorted(&Value::Object(self.metadata.clone())),
            "body": self.body,
        });
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

    fn completion(outputs: &Value) -> Completion {
        Completion {
            ticket: "AOF-abc@1".parse().unwrap(),
            agent: "agent-7".parse().unwrap(),
            outcome: Some("complete".to_owned()),
            summary: Some("done".to_owned()),
            blockers: None,
            rejection_notes: None,
            outputs: outputs.as_object().cloned().unwrap_or_default(),
            metadata: Map::new(),
            body: None,
            id: "c1".parse().unwrap(),
            signature: None,
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
