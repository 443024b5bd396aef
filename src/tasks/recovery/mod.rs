//! What a crash left, finished or undone by the next command that writes.

pub(crate) mod ahead_of_head;
pub(crate) mod checkout;
pub(crate) mod created_files;
pub(crate) mod file_states;
mod interrupted_sync;
pub(crate) mod moved_task;
pub(crate) mod pending;
pub(crate) mod recover;
pub(crate) mod roll_back;
pub(crate) mod roll_forward;
pub(crate) mod stale_file;
pub(crate) mod table;
