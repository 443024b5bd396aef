//! Migrations of existing files and projects.

pub(crate) mod branch;
pub(crate) mod local_state;
pub(crate) mod tasks;
