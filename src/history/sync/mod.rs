//! Sync with a remote: fetch, merge by meaning, push.

pub(crate) mod merge_tasks;
pub(crate) mod outcome;
pub(crate) mod remote_state;
pub(crate) mod sync_loop;
