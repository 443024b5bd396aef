//! The process that holds a lock, as its record and messages tell it.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Who holds the lock, in the words that others are shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// What it runs: `aof task complete`.
    pub command: String,
    /// Since when.
    pub since: Timestamp,
}

impl Holder {
    /// Returns the record of this process.
    pub fn this_process(command: impl Into<String>, since: Timestamp) -> Self {
        Self { pid: std::process::id(), command: command.into(), since }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = self.command.escape_debug();
        write!(f, "`{command}` (process {}, since {:.0})", self.pid, self.since)
    }
}
