//! The YAML head of a Markdown file: found by byte ranges, changed without touching a byte that the change is not about.
//!
//! A write goes split -> parse -> edits as a tree of changes -> byte patches -> verify. What cannot be verified is
//! refused; the file is never serialised anew.

mod change;
mod difference;
mod edit;
mod emit;
mod expected;
mod flow;
mod gather;
mod lines;
mod patch;
mod quote;
mod refusal;
mod render;
mod replace;
mod splice;
mod split;
mod verify;

pub use edit::{Edit, Path, Segment};
pub use emit::emit_document;
pub(super) use emit::{flow, indented};
pub(super) use quote::{Context, is_printable, key, literal_header, scalar};
pub use refusal::SpliceRefusal;
pub use splice::splice;
pub use split::{
    Frontmatter, MAX_FILE, MAX_FRONTMATTER, Split, has_conflict, parse, parse_with, split,
};

#[cfg(test)]
mod tests;
