//! Attributes of files, and line endings.

pub(crate) mod attributes;
pub(crate) mod line_endings;
