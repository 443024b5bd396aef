//! YAML as a tree with byte spans: the one grammar that everything reads by. Never writes.
//!
//! Scalars follow the YAML 1.2 core schema, narrowed so that what a person wrote stays what it is: `no`, `010`,
//! `1_000`, `0x1f`, `1:30`, `.inf` and dates are strings. Refused: duplicate keys, keys that are no strings, merge
//! keys, tags beyond the core ones, several documents, NUL, and whatever breaks [`Limits`]. Aliases are expanded
//! where they stand and marked as [`Sharing::Alias`].

pub(crate) mod build;
pub(crate) mod cursor;
pub(crate) mod decimal;
pub(crate) mod error;
pub(crate) mod fast_path;
pub(crate) mod key;
pub(crate) mod node;
pub(crate) mod parse;
pub(crate) mod position;
pub(crate) mod scalar;
pub(crate) mod tag;
pub(crate) mod unique;

pub(crate) use decimal::Decimal;
pub(crate) use error::{Fault, Label};
pub(crate) use node::{Entry, Key, Kind, Layout, Node, Sharing, Step};
pub(crate) use parse::{Limits, parse, parse_within};
pub(crate) use position::line_column;

#[cfg(test)]
mod tests;
