//! `aof init`

pub(crate) mod agent_files;
pub(crate) mod command;
pub(crate) mod monitoring_files;
