//! Texts with holes: `{{name}}` stands for a value that a gate or the task's beginning handed on.
//!
//! One pass, and values are only ever copied: what an agent wrote is never read as a template. Names are looked up by the
//! caller; this room knows the grammar and how a value becomes text.

mod fault;
mod parse;
mod render;

#[cfg(test)]
mod tests;

use std::ops::Range;

pub use fault::Fault;
pub use render::{Found, Rendered, TEXT_LIMIT, VALUE_LIMIT, as_text};

/// A text whose holes are known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Hole(Reference),
}

/// A hole: the name in it, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    name: String,
    /// The bytes of the hole in the text, braces included.
    pub range: Range<usize>,
}

impl Template {
    /// Reads a text. Returns everything that is wrong with it if anything is.
    pub fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        parse::parse(text)
    }

    /// Returns the holes, in the order of the text.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Hole(reference) => Some(reference),
            Piece::Text(_) => None,
        })
    }

    /// Returns the text with every hole filled by what `look_up` finds.
    pub fn render<'v>(&self, look_up: impl FnMut(&Reference) -> Found<'v>) -> Rendered {
        render::render(self, look_up)
    }
}

impl Reference {
    /// Returns the name: `branch`, `review.blockers`, `fork.security.summary`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the parts of the name, one to three.
    pub fn parts(&self) -> Vec<&str> {
        self.name.split('.').collect()
    }
}
