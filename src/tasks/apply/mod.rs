//! The one way a task changes on disk.

pub(crate) mod batch;
pub(crate) mod change;
pub(crate) mod commit;
