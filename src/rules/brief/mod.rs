//! The brief: what an agent is told at a gate.

pub(crate) mod context;
pub(crate) mod generated;
pub(crate) mod template;
pub(crate) mod template_values;
