//! The repository: opened, configured, its state.

pub(crate) mod commits;
pub(crate) mod configuration;
pub(crate) mod environment;
pub(crate) mod handle;
pub(crate) mod head;
pub(crate) mod identity;
pub(crate) mod merge_config;
pub(crate) mod object_storage;
pub(crate) mod open;
pub(crate) mod references;
pub(crate) mod shallow;
