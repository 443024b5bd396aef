//! Sets up projects: init, templates, imports, monitoring, and files for coding agents.

pub(crate) mod agent_choice;
pub(crate) mod agent_files;
pub(crate) mod agent_wiring;
pub(crate) mod create_workflow;
pub(crate) mod import;
pub(crate) mod import_workflow;
pub(crate) mod init;
pub(crate) mod migrate;
pub(crate) mod monitoring;
pub(crate) mod planned_files;
pub(crate) mod remove;
pub(crate) mod rules_diff;
pub mod template;
