//! The tasks of commits that are merged, in pairs.

pub(crate) mod commit_tasks;
pub(crate) mod task_pairs;
