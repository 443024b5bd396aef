//! Files by which coding agents find a project's tasks.

pub(crate) mod agent_files;
pub(crate) mod block;
pub(crate) mod import_line;
pub(crate) mod json_member;
pub(crate) mod toml_table;
