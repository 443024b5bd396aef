//! How a task changes: completions, claims, timeouts, actions of people, rule changes.

pub(crate) mod actions;
pub(crate) mod begin;
pub(crate) mod claims;
pub(crate) mod completion;
pub(crate) mod dependencies;
pub(crate) mod fold;
pub(crate) mod guard;
pub(crate) mod read_outcome;
pub(crate) mod requested_changes;
pub(crate) mod rule_changes;
pub(crate) mod timeouts;
pub(crate) mod vague_blockers;
pub(crate) mod warning;
