//! `.aof/contact`: when the remote was last spoken to, and since when it cannot be. It only saves asking: without it, nobody knows.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::storage::fs::folder::Durability;
use crate::storage::layout::LOCAL;
use crate::storage::{Folder, Paths, StoreError};

const NAME: &str = "contact";
const LIMIT: u64 = 64 * 1024;

/// What is known of speaking to the remote.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Contact {
    /// When it last answered.
    pub reached: Option<Timestamp>,
    /// What has kept commits from getting there since then.
    pub trouble: Option<Trouble>,
}

/// What keeps commits from getting to the remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trouble {
    /// What kind it is: stable, for JSON.
    pub code: String,
    /// In words.
    pub said: String,
    /// Since when.
    pub since: Timestamp,
    /// The lock of git's that it was; where that is gone, so is the trouble.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<PathBuf>,
}

impl Contact {
    /// Returns what was kept; nothing where it cannot be read.
    pub(crate) fn load(paths: &Paths) -> Self {
        let read = || -> Option<Self> {
            let (bytes, _) =
                Folder::open_existing(paths.root(), LOCAL).ok()??.read(NAME, LIMIT).ok()??;
            serde_json::from_slice(&bytes).ok()
        };
        read().unwrap_or_default()
    }

    /// Returns what keeps commits from getting there, as far as it still stands.
    pub(crate) fn trouble_now(&self) -> Option<&Trouble> {
        self.trouble
            .as_ref()
            .filter(|trouble| trouble.lock.as_ref().is_none_or(|lock| lock.exists()))
    }

    /// Keeps it.
    pub(crate) fn save(&self, paths: &Paths) -> Result<(), StoreError> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        paths.prepare_local()?.replace(NAME, &text, Durability::Volatile)
    }
}
