//! Delivers one message to its channel, once, within a time limit.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::message::{Failure, Message};
use super::{command, webhook};
use crate::domain::Channel;

/// Delivers a message. Programs run in the project's folder; `stop` ends those that are under way.
pub(crate) fn deliver(
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
