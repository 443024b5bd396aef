//! What people keep in a task file beside what the engine keeps there: keys of their own, and the body.

use serde_json::Value;

use super::{Origin, Spliced, TaskFile, edits};
use crate::domain::{AgentId, Map};
use crate::files::config::decode::text_of;
use crate::files::yaml::{Entry, Kind, Node};

/// Where `context` has what a task began with.
pub(crate) const INPUT: &str = "input";

/// The keys whose values are texts, or lists of them: what looks like a number there is the text that is written.
const TEXTS: [&str; 4] = ["title", "description", "tags", "blockers"];

/// The keys that are the engine's.
const OWN: [&str; 11] = [
    "id",
    "status",
    "created",
    "updated",
    "routing",
    "gate",
    "gateHistory",
    "reviewContext",
    "blockers",
    "context",
    "workflowHash",
];

/// Those of them that a file of a task at no gate yet does not bring along.
const GIVEN: [&str; 4] = ["reviewContext", "blockers", "context", "workflowHash"];

/// Whose keys are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All but the engine's.
    People,
    /// All: nobody has taken the task up, so there are no others.
    All,
}

/// Returns whether a task has that key from the engine, unless it says what the task begins with.
pub(crate) fn is_given(key: &str) -> bool {
    GIVEN.contains(&key)
}

/// Returns what entries say, each as it is read: a change of a text is seen where the numbers that it looks like are the same.
pub(crate) fn said<'n, 's: 'n>(entries: impl IntoIterator<Item = &'n Entry<'s>>) -> Map {
    let value = |entry: &Entry<'_>| {
        let is_text = TEXTS.contains(&entry.key.text.as_ref());
        if is_text { texts(&entry.value) } else { entry.value.to_value() }
    };
    entries.into_iter().map(|entry| (entry.key.text.clone().into_owned(), value(entry))).collect()
}

fn texts(node: &Node<'_>) -> Value {
    match (&node.kind, text_of(node)) {
        (_, Some(text)) => Value::String(text.into_owned()),
        (Kind::Sequence(items), None) => items.iter().map(texts).collect(),
        (_, None) => node.to_value(),
    }
}

impl TaskFile {
    /// Returns these keys, as they stand.
    pub fn keys(&self, scope: Scope) -> Map {
        let mut keys = self.raw();
        keys.retain(|key, _| scope == Scope::All || !OWN.contains(&key.as_str()));
        keys
    }

    /// Returns what a file of a task at no gate yet says that only the engine says, and somebody may have meant: it would be lost if it
    /// were left out without a word. What a task begins with is people's.
    pub fn unearned(&self) -> Vec<String> {
        if self.origin == Origin::Adopted {
            return Vec::new();
        }
        let root = self.source.root();
        let says = |node: Option<&Node<'_>>| {
            node.is_some_and(|node| {
                !node.is_null() && !matches!(&node.kind, Kind::Sequence(items) if items.is_empty())
            })
        };
        let handed_on = root
            .get("context")
            .map_or(&[][..], Node::entries)
            .iter()
            .map(|entry| entry.key.text.as_ref());
        let mut found: Vec<String> =
            says(root.get("blockers")).then(|| "blockers".to_owned()).into_iter().collect();
        found.extend(handed_on.filter(|name| *name != INPUT).map(|name| format!("context.{name}")));
        found
    }

    /// Returns whose a file of a task at no gate yet wants it to be: whether that can be, the rules say.
    pub fn wanted_agent(&self) -> Option<AgentId> {
        let named = self.source.root().get("routing").and_then(|routing| routing.get("agent"));
        named
            .filter(|_| self.origin == Origin::HandMade)
            .and_then(|agent| text_of(agent)?.parse().ok())
    }

    /// Returns the file with other ones in the place of these keys, and with that body, to the byte.
    pub fn with_keys(&self, scope: Scope, keys: Map, body: &str) -> Spliced {
        let close = self.source.close();
        let end = match close.ends_with('\n') || body.is_empty() {
            true => "",
            false if self.source.text().contains("\r\n") => "\r\n",
            false => "\n",
        };
        self.splice(&edits::between(self, &self.keys(scope), keys), &format!("{close}{end}{body}"))
    }
}
