//! Merges two versions of a task file by meaning.

pub(crate) mod file_merge;
pub(crate) mod one_task;
pub(crate) mod outcome;
pub(crate) mod text;
