//! The state of one task: its file, HEAD's version, and what lies between.

pub(crate) mod continues_head;
pub(crate) mod misplaced_files;
pub(crate) mod renamed_files;
pub(crate) mod repair_hints;
pub(crate) mod restore_hint;
pub(crate) mod task_state;
