//! The event stream, notices, metrics and statistics.

pub mod events;
pub(crate) mod metrics;
pub(crate) mod notices;
pub(crate) mod stats;
