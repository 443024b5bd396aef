//! The state of one task: its file, HEAD's version, and what lies between.

pub(crate) mod commit_message;
pub(crate) mod continues_head;
pub(crate) mod frozen;
pub(crate) mod misplaced_files;
pub(crate) mod stale_file;
pub(crate) mod task_state;
