//! The state of one task: its file, HEAD's version, and the difference.

pub(crate) mod acceptance;
pub(crate) mod comment_heads;
pub(crate) mod commit_message;
pub(crate) mod frozen;
pub(crate) mod misread;
pub(crate) mod read_keys;
pub(crate) mod task_state;
