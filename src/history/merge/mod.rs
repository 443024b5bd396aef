//! Two versions of a task file merged by meaning.

pub(crate) mod bases;
pub(crate) mod body;
pub(crate) mod commits;
pub(crate) mod endings;
pub(crate) mod lines;
pub(crate) mod merge;
pub(crate) mod text_merge;
pub(crate) mod trees;
pub(crate) mod unrelated_tasks;
