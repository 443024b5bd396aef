//! Reads and joins commits: verify, merge, sync, and the events of new commits.

pub(crate) mod commit_events;
pub(crate) mod commit_tasks;
pub(crate) mod git_race_repair;
pub(crate) mod merge_driver;
pub(crate) mod staged_check;
pub(crate) mod sync;
pub(crate) mod unmerged;
pub(crate) mod unreported;
pub(crate) mod verify;
