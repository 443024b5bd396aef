//! One task as it is shown to people and programs.

pub(crate) mod brief;
pub(crate) mod code_commits;
pub(crate) mod phrases;
pub(crate) mod task_view;
pub(crate) mod why;
pub(crate) mod work_diff;
