//! What happens to tasks without a command: hand edits are adopted, rules change, time runs out.

pub(crate) mod adopt;
pub(crate) mod rule_changes;
pub(crate) mod timeouts;
