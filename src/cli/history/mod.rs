//! Commands about commits.

pub(crate) mod merge_driver;
pub(crate) mod sync;
pub(crate) mod verify;
