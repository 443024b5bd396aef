//! What a task starts with, and what its gates may hand on.

use crate::domain::Map;

/// The rules of a workflow for its tasks' context.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextRules {
    /// What a task starts with: names and defaults; null is for what whoever makes the task must say. Absent means that
    /// anything may be said.
    pub input: Option<Map>,
    /// The names that always mean the input; absent means the usual ones.
    pub protected: Option<Vec<String>>,
    /// The largest value that a gate may hand on under one name, in bytes of its JSON.
    pub max_bytes: usize,
}

impl ContextRules {
    /// The largest value where the workflow does not say.
    pub const DEFAULT_BYTES: usize = 4096;

    /// The names that are protected where the workflow does not say, as far as a task starts with them and no gate declares them.
    pub const USUALLY_PROTECTED: &[&str] = &["task", "repo", "branch"];

    /// Tells whether a task starts with a value of that name.
    pub fn declares(&self, name: &str) -> bool {
        self.input.as_ref().is_some_and(|input| input.contains_key(name))
    }
}

impl Default for ContextRules {
    fn default() -> Self {
        Self { input: None, protected: None, max_bytes: Self::DEFAULT_BYTES }
    }
}
