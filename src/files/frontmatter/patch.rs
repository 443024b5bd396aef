//! Replacements of byte ranges, applied in one go, and why a file is not changed.

use std::ops::Range;

use thiserror::Error;

/// Why a file was left alone.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpliceRefusal {
    /// The edit would change a value that is written once and used in several places.
    #[error(
        "`{path}` on line {line} is shared by an anchor or alias (`&`, `*`); write the value out first"
    )]
    Shared { path: String, line: usize },
    /// The edit expects something else at this place.
    #[error("`{path}` on line {line} is {found}, not {expected}")]
    Shape { path: String, line: usize, found: &'static str, expected: &'static str },
    /// A list is shorter than the edit supposes.
    #[error("`{path}` does not exist: the list ends after {length}")]
    OutOfRange { path: String, length: usize },
    /// The place is written in a way that cannot be changed without touching its surroundings.
    #[error("line {line} cannot be changed in place: {reason}")]
    Layout { line: usize, reason: &'static str },
    /// The changed text does not say what it should, so it was thrown away.
    #[error("the edit of {paths} was not made: {reason}")]
    Unverified { paths: String, reason: String },
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

/// Replacements, in any order, of parts of one text.
#[derive(Default)]
pub(crate) struct Patches(Vec<(Range<usize>, String)>);

impl Patches {
    pub(crate) fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(at..at, text);
    }

    pub(crate) fn delete(&mut self, range: Range<usize>) {
        self.replace(range, "");
    }

    pub(crate) fn replace(&mut self, range: Range<usize>, text: impl Into<String>) {
        let text = text.into();
        if !(range.is_empty() && text.is_empty()) {
            self.0.push((range, text));
        }
    }

    /// Returns the text with all replacements made, their line breaks written as `newline`; `None` if two overlap that
    /// are no deletions.
    pub(crate) fn apply(mut self, source: &str, newline: &str) -> Option<String> {
        // Stable: what was inserted first at one place comes first.
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = String::with_capacity(source.len() * 2);
        let mut at = 0;
        let mut deleted = false;
        for (range, text) in self.0 {
            // Blank lines may go with the neighbours on both sides, and something new may begin among them.
            let start = if deleted { range.start.max(at) } else { range.start };
            deleted = text.is_empty();
            out.push_str(source.get(at..start)?);
            out.push_str(&text.replace('\n', newline));
            at = range.end.max(start);
        }
        out.push_str(source.get(at..)?);
        Some(out)
    }
}
