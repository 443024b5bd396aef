//! Parses YAML to a tree with byte spans: the one grammar for all files. Never writes.
//!
//! Scalars follow the YAML 1.2 core schema, narrowed so that a person's text stays unchanged: `no`, `010`, `1_000`, `0x1f`, `1:30`,
//! `.inf` and dates are strings. Refused: duplicate keys, keys that are not strings, merge keys, tags beyond the core ones, several
//! documents, NUL, and documents beyond [`ParseLimits`]. Aliases are expanded in place and marked as [`Sharing::Alias`].

pub(crate) mod build;
pub(crate) mod error;
pub(crate) mod node;
pub mod parse;
pub(crate) mod scalar;

pub(crate) use error::conflict_in;
pub(crate) use error::is_conflict_marker;
pub(crate) use error::line_number;
pub use error::{Fault, Label, ParseLimits, conflicted, line_column};
pub use node::{EntryKey, MappingEntry, Node, NodeKind, NodeLayout, Sharing};
pub use parse::parse;
pub(crate) use parse::parse_within;

#[cfg(test)]
mod tests;
