//! Bytes to nouns and back: what people and agents write, as `model` values. May use `model` only.

pub mod frontmatter;
pub mod yaml;
