//! Names that users give, checked against what exists.

pub(crate) mod known_names;
pub(crate) mod startable_workflows;
pub(crate) mod stations;
