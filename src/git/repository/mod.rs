//! The repository: opened, configured, its state.

pub(crate) mod abandoned_rebase;
pub(crate) mod configuration;
pub(crate) mod environment;
pub(crate) mod git_file;
pub(crate) mod head;
pub(crate) mod merge_config;
pub(crate) mod merge_context;
pub(crate) mod object_storage;
pub(crate) mod open;
pub(crate) mod quarantine;
pub(crate) mod repository;
pub(crate) mod tracked_state;
