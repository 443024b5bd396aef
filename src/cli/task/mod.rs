//! The commands for tasks, and `aof why`.

pub(crate) mod actions;
pub(crate) mod approval;
pub(crate) mod brief;
pub(crate) mod columns;
pub(crate) mod command;
pub(crate) mod complete;
pub(crate) mod decide;
pub(crate) mod write;

pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod named_tasks;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod test;
pub(crate) mod why;
