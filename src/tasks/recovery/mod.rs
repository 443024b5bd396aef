//! What a kill interrupted is finished or undone, under the lock, by the next command that writes.

pub(crate) mod ahead_of_head;
pub(crate) mod bring;
pub(crate) mod interrupted_sync;
pub(crate) mod interrupted_write;
pub(crate) mod recover;
pub(crate) mod roll_back;
pub(crate) mod roll_forward;
pub(crate) mod stale_file;
pub(crate) mod table;
