//! The project's metrics for Prometheus, counted from task files and events.

pub(crate) mod count;
pub(crate) mod exposition;
pub(crate) mod families;
