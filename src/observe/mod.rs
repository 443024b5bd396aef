//! Telling others: a message goes to a program or to a web server. May use `format` and `model`, never `engine` or `store`.
//!
//! Nothing here knows what is waiting or when it is tried again: one message goes one way, once, within a time limit. `metrics`
//! writes down numbers that others counted, `endpoint` shows them to whoever asks.

mod address;
mod command;
mod delivery;
pub mod endpoint;
pub mod metrics;
mod said;
mod signature;
mod webhook;

pub use delivery::{Failure, Message, deliver};
