//! How a task changes: completions, claims, timeouts, actions of people, rule changes.

pub(crate) mod actions;
pub(crate) mod claims;
pub(crate) mod completion;
pub(crate) mod content;
pub(crate) mod dependencies;
pub(crate) mod fold;
pub(crate) mod read_outcome;
pub(crate) mod rule_changes;
pub(crate) mod timeouts;
pub(crate) mod visit;
