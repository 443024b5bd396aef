//! What is told of the work: events, metrics, statistics, notices, logs.

mod events;
mod logs;
mod metrics;
mod monitoring;
#[cfg(debug_assertions)]
mod notices;
mod stats;
mod webhooks;
