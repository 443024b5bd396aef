//! What rules and time do to tasks: automatic gates, rule changes, timeouts, dependencies.

pub(crate) mod automatic_gates;
pub(crate) mod dependencies;
pub(crate) mod rule_changes;
pub(crate) mod rule_effects;
pub(crate) mod timeouts;
