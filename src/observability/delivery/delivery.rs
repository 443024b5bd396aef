//! One message on its way, and what may come of it.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::{command, webhook};
use crate::domain::Channel;

/// What is delivered.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// Stays the same however often it is delivered.
    pub id: &'a str,
    /// All that it says.
    pub value: &'a Value,
    /// The time of the attempt.
    pub now: Timestamp,
}

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The receiver answered, and did not take this one; it may take others.
    Refused {
        /// What it said.
        why: String,
    },
    /// Nobody answered, or not now: there is no use in trying others.
    Unreachable {
        /// What was met.
        why: String,
        /// How long it wants to be left alone at least.
        again_in: Option<Duration>,
    },
    /// The receiver does not want it, now or ever.
    Unwanted {
        /// What it said.
        why: String,
    },
    /// Whoever delivers was told to stop; nothing is known of the message.
    Stopped,
}

/// Delivers a message. Programs run in the project's folder; `stop` ends those that are under way.
pub fn deliver(
    channel: &Channel,
    message: Message<'_>,
    root: &Path,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    match channel {
        Channel::Command(words) => command::run(words, message, root, stop),
        Channel::Webhook(webhook) => webhook::post(webhook, message),
    }
}
