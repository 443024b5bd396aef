//! YAML as a tree with byte spans: the one grammar that everything reads by. Never writes.
//!
//! Scalars follow the YAML 1.2 core schema, narrowed so that what a person wrote stays what it is: `no`, `010`,
//! `1_000`, `0x1f`, `1:30`, `.inf` and dates are strings. Refused: duplicate keys, keys that are no strings, merge
//! keys, tags beyond the core ones, several documents, NUL, and whatever breaks [`Limits`]. Aliases are expanded
//! where they stand and marked as [`Sharing::Alias`].

mod build;
mod cursor;
mod decimal;
mod fault;
mod key;
mod node;
mod parse;
mod plain;
mod position;
pub mod scalar;
mod tag;
mod unique;

pub use decimal::Decimal;
pub use fault::{Fault, Label};
pub use node::{Entry, Key, Kind, Layout, Node, Sharing, Step};
pub use parse::{Limits, parse, parse_within};
pub use position::line_column;

#[cfg(test)]
mod tests;
