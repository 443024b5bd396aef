//! Reads and joins commits: verify, merge, sync, and the events of new commits.

pub(crate) mod commit_events;
pub(crate) mod commit_tasks;
pub(crate) mod lost_steps;
pub(crate) mod merge_driver;
pub(crate) mod stale_index;
pub(crate) mod sync;
pub(crate) mod unreported;
pub(crate) mod verify;
