//! The loop of a gate: it is visited once for each item of a list.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::GateId;

/// The list that a gate goes through: one visit for each item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForEach {
    /// The path of the list in the context: `plan.stories`.
    pub list: String,
    /// The longest list; with a longer one the task is blocked.
    pub max_items: usize,
    /// The detour that judges each item.
    pub verify_each: Option<GateId>,
}

impl ForEach {
    /// The longest list if the gate sets none.
    pub const DEFAULT_ITEMS: usize = 50;

    /// Returns the parts of the path: a gate or `input`, then keys.
    pub fn path(&self) -> impl Iterator<Item = &str> {
        self.list.split('.')
    }
}

/// The item that a visit is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopItem {
    /// Its place in the list, from 0.
    pub index: usize,
    /// The length of the list when it was read.
    pub of: usize,
}

impl LoopItem {
    /// Returns the next item; `None` after the last.
    pub fn next(self) -> Option<Self> {
        let index = self.index + 1;
        (index < self.of).then_some(Self { index, ..self })
    }
}

impl fmt::Display for LoopItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {} of {}", self.index + 1, self.of)
    }
}
