//! The checks of `aof status` and `aof doctor`.

#![expect(clippy::unnecessary_wraps, reason = "all checks have one signature")]

pub(crate) mod folders;
pub(crate) mod git;
pub(crate) mod inbox;
pub(crate) mod index;
pub(crate) mod local_files;
pub(crate) mod merge_driver;
pub(crate) mod missing_files;
pub(crate) mod notices;
pub(crate) mod remote;
pub(crate) mod rules;
pub(crate) mod signing;
pub(crate) mod task_files;
pub(crate) mod tasks;
pub(crate) mod uncommitted;
pub(crate) mod unreadable;
