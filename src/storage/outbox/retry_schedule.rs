//! When a channel is tried again: after nobody answered there, and before what waits there is due.

use std::collections::HashSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::outbox::{LIMIT, Outbox, folder_of};
use crate::domain::ChannelKey;
use crate::storage::{Durability, StoreError};

/// Why a channel is left alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    /// How often nobody answered, one attempt after the other.
    pub attempts: u32,
    /// Since when.
    pub since: Timestamp,
    /// Until when.
    pub until: Timestamp,
    /// What the last attempt met.
    pub error: String,
    /// The file of the message that was tried last.
    pub last: String,
}

impl Outbox {
    /// Returns before when nothing of a channel is tried, if that is known.
    pub fn next(&self, channel: &ChannelKey) -> Result<Option<Timestamp>, StoreError> {
        let Some(folder) = self.standing(&folder_of(channel))? else { return Ok(None) };
        Ok(folder.read("next", LIMIT)?.and_then(|(bytes, _)| serde_json::from_slice(&bytes).ok()))
    }

    /// Notes before when nothing of a channel is tried, unless there are messages that `seen` does not have.
    pub fn set_next(
        &self,
        channel: &ChannelKey,
        next: Option<Timestamp>,
        seen: &[String],
    ) -> Result<(), StoreError> {
        let folder = self.made(&folder_of(channel))?;
        let Some(next) = next else { return folder.remove("next") };
        let bytes = serde_json::to_vec(&next).expect("a time is JSON");
        folder.replace("next", &bytes, Durability::Volatile)?;
        // In this order: whoever adds a message removes the file afterwards.
        let seen: HashSet<&String> = seen.iter().collect();
        if self.names(channel)?.iter().any(|name| !seen.contains(name)) {
            folder.remove("next")
        } else {
            Ok(())
        }
    }

    /// Returns why a channel is left alone, if it is.
    pub fn rest(&self, channel: &ChannelKey) -> Result<Option<Rest>, StoreError> {
        let Some(folder) = self.standing(&folder_of(channel))? else { return Ok(None) };
        Ok(folder.read("rest", LIMIT)?.and_then(|(bytes, _)| serde_json::from_slice(&bytes).ok()))
    }

    /// Leaves a channel alone for a while, or no longer.
    pub fn set_rest(&self, channel: &ChannelKey, rest: Option<&Rest>) -> Result<(), StoreError> {
        let folder = self.made(&folder_of(channel))?;
        match rest {
            Some(rest) => {
                let bytes = serde_json::to_vec(rest).expect("plain fields are JSON");
                folder.replace("rest", &bytes, Durability::Volatile)
            }
            None => folder.remove("rest"),
        }
    }
}
