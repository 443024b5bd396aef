//! What reads or joins commits: verify, merge, sync.

pub(crate) mod evidence;
pub(crate) mod lost_steps;
pub(crate) mod merge;
pub(crate) mod merge_driver;
pub(crate) mod new_commits;
pub(crate) mod stale_index;
pub(crate) mod sync;
pub(crate) mod task_reader;
pub(crate) mod touched_tasks;
pub(crate) mod verify;
