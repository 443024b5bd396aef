//! Commands about events, notices and numbers.

pub(crate) mod events;
pub(crate) mod metrics;
pub(crate) mod notices;
pub(crate) mod stats;
