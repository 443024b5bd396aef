//! status-graph: roles with a schema of their outputs, and a graph that leads from a role's `$status` to the next role.

pub(crate) mod conditions;
pub(crate) mod convert;
pub(crate) mod graph;
pub(crate) mod loops;
pub(crate) mod role_outputs;
