//! What people keep in a task file beside what the engine keeps there: keys of their own, and the body.

use super::{Spliced, TaskFile, edits};
use crate::model::Map;

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

/// Whose keys are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All but the engine's.
    People,
    /// All: nobody has taken the task up, so there are no others.
    All,
}

impl TaskFile {
    /// Returns these keys, as they stand.
    pub fn keys(&self, scope: Scope) -> Map {
        let mut keys = self.raw();
        keys.retain(|key, _| scope == Scope::All || !OWN.contains(&key.as_str()));
        keys
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
