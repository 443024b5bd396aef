//! Texts with holes: `{{name}}` stands for a value that a gate or the task's beginning handed on.
//!
//! One pass, and values are only ever copied: what an agent wrote is never read as a template. Names are looked up by the
//! caller; this room knows the grammar and how a value becomes text.

pub(crate) mod fault;
pub(crate) mod parse;
pub(crate) mod render;

#[cfg(test)]
mod tests;

use std::ops::Range;

pub(crate) use fault::Fault;
pub(crate) use render::{Found, Rendered, as_text};

/// A text whose holes are known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Hole(Reference),
}

/// A hole: the name in it, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    name: String,
    /// The bytes of the hole in the text, braces included.
    pub range: Range<usize>,
}

impl Template {
    /// Reads a text. Returns everything that is wrong with it if anything is.
    pub(crate) fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        parse::parse(text)
    }

    /// Returns the holes, in the order of the text.
    pub(crate) fn references(&self) -> impl Iterator<Item = &Reference> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Hole(reference) => Some(reference),
            Piece::Text(_) => None,
        })
    }

    /// Returns the text with every hole filled by what `look_up` finds.
    pub(crate) fn render<'v>(&self, look_up: impl FnMut(&Reference) -> Found<'v>) -> Rendered {
        render::render(self, look_up)
    }
}

impl Reference {
    /// Returns the name: `branch`, `review.blockers`, `fork.security.summary`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the parts of the name, one to three.
    pub(crate) fn parts(&self) -> Vec<&str> {
        self.name.split('.').collect()
    }
}
