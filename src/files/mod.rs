//! Parses and writes the files of people and agents, as `domain` values.

pub(crate) mod acceptance;
pub mod config;
pub mod diagnostic;
pub(crate) mod event;
pub(crate) mod json;

pub(crate) mod allowed_signers;
pub mod completion_file;
pub mod frontmatter;
pub(crate) mod printable;
pub(crate) mod schema;
pub mod task_file;
pub(crate) mod toml_tree;
pub(crate) mod workflow_text;
pub(crate) mod yaml;
