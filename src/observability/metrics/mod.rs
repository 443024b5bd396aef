//! The project's metrics for Prometheus, counted from task files and events.

pub(crate) mod count;
pub(crate) mod ended_visits;
pub(crate) mod event_counts;
pub(crate) mod families;
pub(crate) mod numbers;
pub(crate) mod unreadable_tasks;
pub(crate) mod zero_series;
