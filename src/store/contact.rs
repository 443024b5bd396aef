//! `.aof/contact`: when the remote was last spoken to, and since when it cannot be. It only saves asking: without it, nobody knows.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::folder::Durability;
use super::layout::LOCAL;
use super::{Folder, Paths, StoreError};

const NAME: &str = "contact";
const LIMIT: u64 = 64 * 1024;

/// What is known of speaking to the remote.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Contact {
    /// When it last answered.
    pub reached: Option<Timestamp>,
    /// What has kept commits from getting there since then.
    pub trouble: Option<Trouble>,
}

/// What keeps commits from getting to the remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// What kind it is: stable, for JSON.
    pub code: String,
    /// In words.
    pub said: String,
    /// Since when.
    pub since: Timestamp,
}

impl Contact {
    /// Returns what was kept; nothing where it cannot be read.
    pub fn load(paths: &Paths) -> Self {
        let read = || -> Option<Self> {
            let (bytes, _) = Folder::open_existing(paths.root(), LOCAL).ok()??.read(NAME, LIMIT).ok()??;
            serde_json::from_slice(&bytes).ok()
        };
        read().unwrap_or_default()
    }

    /// Keeps it.
    pub fn save(&self, paths: &Paths) -> Result<(), StoreError> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        paths.prepare_local()?.replace(NAME, &text, Durability::Volatile)
    }
}
