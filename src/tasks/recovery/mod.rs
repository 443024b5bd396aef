//! Recovery: the next command that writes finishes or undoes an interrupted write, under the lock.

pub(crate) mod dropped_steps;
pub(crate) mod file_repair;
pub(crate) mod interrupted_write;
pub(crate) mod recover;
pub(crate) mod table;
