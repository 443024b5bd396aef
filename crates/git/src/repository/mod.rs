//! The repository: opened, configured, its state.

pub(crate) mod configuration;
pub(crate) mod environment;
pub(crate) mod handle;
pub(crate) mod maintenance;
pub(crate) mod open;
pub(crate) mod references;
