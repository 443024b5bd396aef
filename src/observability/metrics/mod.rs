//! The project's metrics for Prometheus, counted from task files and events.

pub(crate) mod count;
pub(crate) mod families;
pub(crate) mod known_series;
pub(crate) mod numbers;
