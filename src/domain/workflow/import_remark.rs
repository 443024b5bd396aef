//! What became of a field of an imported file.

use serde_json::{Value, json};

use crate::domain::words::words;

words!(
    /// What became of a field.
    FieldFate, "a fate", {
        /// It stands in the new file as it stood in the old one.
        Kept = "kept",
        /// It says the same in other words.
        Converted = "converted",
        /// The file does not say it, and the new one has to, or does by a default.
        Added = "added",
        /// It is not in the new file; where a task goes does not depend on it.
        Dropped = "dropped",
        /// It is not in the new file, and a task would go another way for it.
        Lost = "lost",
    }
);

/// One field of the foreign file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRemark {
    /// Its line, from 1; absent where the file says nothing of it.
    pub line: Option<usize>,
    /// The way to it: `steps.review.on_fail`.
    pub field: String,
    pub fate: FieldFate,
    /// Why, or into what.
    pub note: String,
}

impl ImportRemark {
    /// Returns the remark as `--json` shows it.
    pub fn to_value(&self) -> Value {
        json!({"line": self.line, "field": self.field, "fate": self.fate.as_str(), "note": self.note})
    }
}
