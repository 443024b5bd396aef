//! The YAML head of a Markdown file: found by byte ranges, and changed without touching any other byte.
//!
//! A write goes split -> parse -> edits as a tree of changes -> byte patches -> verify. A change that cannot be verified is
//! refused; the file is never serialised again.

pub(crate) mod change;
pub(crate) mod edit;
pub(crate) mod emit;
pub(crate) mod flow;
pub(crate) mod patch;
pub(crate) mod replace;
pub(crate) mod splice;
pub(crate) mod split;

pub use edit::{Edit, EditAct, Path, Segment};
pub use emit::emit_document;
pub(crate) use emit::{Context, flow, indented, key, literal_header, push_spaces, scalar};
pub use patch::SpliceRefusal;
pub use splice::splice;
pub use split::{Frontmatter, Split, parse, parse_with, split};

#[cfg(test)]
mod tests;
