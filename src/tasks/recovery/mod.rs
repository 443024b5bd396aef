//! What a kill interrupted is finished or undone, under the lock, by the next command that writes.

pub(crate) mod file_repair;
pub(crate) mod interrupted_write;
pub(crate) mod recover;
pub(crate) mod table;
