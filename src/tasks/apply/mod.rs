//! The one way a task changes on disk.

pub(crate) mod batch;
pub mod change;
pub(crate) mod commit;
pub(crate) mod commit_message;
pub(crate) mod file_writes;
pub(crate) mod place;
pub(crate) mod rehearsal;
pub(crate) mod write;
