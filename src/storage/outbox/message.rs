//! A message that waits: what its file says and how that is called, and how files come to be there, whole and durably.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::storage::fs::folder::temporary_file::Staged;
use crate::storage::{Durability, Folder, StoreError};
use crate::system::disk;

/// How many files are written before the disk is waited for.
const TOGETHER: usize = 64;
const SUFFIX: &str = ".json";

/// A message that waits, or was given up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    /// Stays the same however often it is delivered.
    pub id: String,
    /// What it is sorted by, with the id: seconds, then what came later in them.
    pub order: (i64, usize, usize),
    /// The channel as people know it.
    pub channel: String,
    /// When it was put here.
    pub since: Timestamp,
    /// What is delivered.
    pub message: Value,
    /// How often that was tried.
    pub attempts: u32,
    /// When it is tried again.
    pub next: Option<Timestamp>,
    /// Why the last attempt failed, or why it was given up.
    pub error: Option<String>,
}

impl Waiting {
    /// Returns the name of its file: it sorts by when the message was made.
    pub fn name(&self) -> String {
        let (seconds, later, place) = self.order;
        format!("{:012}-{later:010}-{place:03}-{}{SUFFIX}", seconds.max(0), self.id)
    }

    /// Returns what its file says.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain fields are JSON")
    }
}

/// Writes messages, so many at a time that wait for the disk together.
pub(crate) fn put_together(folder: &Folder, messages: &[Waiting]) -> Result<(), StoreError> {
    messages.chunks(TOGETHER).try_for_each(|messages| put(folder, messages))
}

fn put(folder: &Folder, messages: &[Waiting]) -> Result<(), StoreError> {
    let (mut staged, mut unsynced) = (Vec::new(), Vec::new());
    for waiting in messages {
        let name = waiting.name();
        if folder.kind(&name)?.is_none() {
            let mut file = Staged::new(folder, &name, &waiting.bytes(), Durability::Durable)?;
            unsynced.extend(file.unsynced()?);
            staged.push((name, file));
        }
    }
    disk::sync(unsynced)
        .map_err(|fault| StoreError::io("flush to disk", &fault.path, fault.cause))?;
    for (name, mut file) in staged {
        match file.create(&name) {
            Ok(()) | Err(StoreError::Exists { .. }) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}

/// Returns whether a file of that name is a message.
pub(crate) fn is_message(name: &str) -> bool {
    name.ends_with(SUFFIX) && !name.starts_with('.')
}
