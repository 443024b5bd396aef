//! Bytes to nouns and back: what people and agents write, as `model` values. May use `model` only.

pub mod completion_file;
mod decode;
pub mod frontmatter;
mod json;
pub mod task_file;
pub mod visit_entry;
pub mod yaml;
