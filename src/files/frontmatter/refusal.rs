//! Why an edit was not made. A refused file is as it was.

use thiserror::Error;

/// Why a file was left alone.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpliceRefusal {
    /// The edit would change a value that is written once and used in several places.
    #[error(
        "`{path}` on line {line} is shared by an anchor or alias (`&`, `*`); write the value out first"
    )]
    Shared {
        /// The place that was to change.
        path: String,
        /// The line of the anchor or alias.
        line: usize,
    },
    /// The edit expects something else at this place.
    #[error("`{path}` on line {line} is {found}, not {expected}")]
    Shape { path: String, line: usize, found: &'static str, expected: &'static str },
    /// A list is shorter than the edit supposes.
    #[error("`{path}` does not exist: the list ends after {length}")]
    OutOfRange {
        path: String,
        /// How many items there are.
        length: usize,
    },
    /// The place is written in a way that cannot be changed without touching its surroundings.
    #[error("line {line} cannot be changed in place: {reason}")]
    Layout {
        line: usize,
        /// What is in the way.
        reason: &'static str,
    },
    /// The changed text does not say what it should, so it was thrown away.
    #[error("the edit of {paths} was not made: {reason}")]
    Unverified {
        /// The places that were to change.
        paths: String,
        reason: String,
    },
}

impl SpliceRefusal {
    /// Returns a stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Shared { .. } => "frontmatter_shared",
            Self::Shape { .. } => "frontmatter_shape",
            Self::OutOfRange { .. } => "frontmatter_out_of_range",
            Self::Layout { .. } => "frontmatter_layout",
            Self::Unverified { .. } => "frontmatter_unverified",
        }
    }
}
