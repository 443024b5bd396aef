//! What happened, told and counted: the event stream, notices, metrics, statistics.
//!
//! Nothing here knows what is waiting or when it is tried again: one message goes one way, once, within a time limit. `metrics`
//! writes down numbers that others counted, `endpoint` shows them to whoever asks.

pub(crate) mod delivery;
pub(crate) mod endpoint;
pub mod events;
pub(crate) mod gate_report;
pub(crate) mod metrics;
pub(crate) mod notices;
pub(crate) mod stats;
pub(crate) mod workload;

pub(crate) mod exposition;

pub use delivery::delivery::{Failure, Message, deliver};
