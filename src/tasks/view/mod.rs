//! One task as people and programs are shown it.

pub(crate) mod brief;
pub(crate) mod brief_markdown;
pub(crate) mod changed;
pub(crate) mod history;
pub(crate) mod task_view;
