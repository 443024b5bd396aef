//! Bytes to nouns and back: what people and agents write, as `model` values. May use `model` only.

pub mod completion_file;
pub mod config;
mod decode;
pub mod diagnostic;
pub mod event;
mod event_text;
mod excerpt;
pub mod frontmatter;
pub mod import;
mod json;
mod locate;
mod notify_file;
pub mod open_visit;
mod org_file;
pub mod plain;
mod project_file;
mod run_file;
pub mod schema;
pub mod shape_file;
mod signal_file;
pub mod task_file;
pub mod template;
mod toml;
pub mod visit_entry;
mod workflow_file;
pub mod workflow_text;
pub mod yaml;
