//! Git's merge driver and hooks for task files.

pub(crate) mod driver;
pub(crate) mod setup;
pub(crate) mod unmerged;
