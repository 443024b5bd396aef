//! The changes of a task: completions, claims, timeouts, actions of people, rule changes.

pub(crate) mod claims;
pub(crate) mod completion;
pub(crate) mod decide;
pub(crate) mod fold;
pub(crate) mod guards;
pub(crate) mod repeated;
pub(crate) mod reply;
pub(crate) mod rule_changes;
pub(crate) mod visit;
