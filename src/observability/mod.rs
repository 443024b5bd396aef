//! What happened, told and counted: the event stream, notices, metrics, statistics.

pub mod events;
pub(crate) mod metrics;
pub(crate) mod notices;
pub(crate) mod stats;
