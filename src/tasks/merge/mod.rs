//! Merges two versions of a task file by meaning.

pub(crate) mod file_merge;
pub(crate) mod versions;
