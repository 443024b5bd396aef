//! What happened, told and counted: the event stream, notices, metrics, statistics.

pub(crate) mod delivery;
pub(crate) mod endpoint;
pub mod events;
pub(crate) mod exposition;
pub(crate) mod gate_report;
pub(crate) mod metrics;
pub(crate) mod notices;
pub(crate) mod stats;
