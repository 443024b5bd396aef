//! One task as people and programs are shown it.

pub(crate) mod brief;
pub(crate) mod brief_markdown;
pub(crate) mod changed;
pub(crate) mod deadlines;
pub(crate) mod history;
pub(crate) mod reasons;
pub(crate) mod task_view;
pub(crate) mod why;
