//! Files of people and agents: parses them to `aof-domain` values, and writes changes back without touching another byte.
//!
//! | file | module |
//! |---|---|
//! | a task | [`task_file`]: the fields; [`frontmatter`]: the bytes around a change; [`acceptance`]: the checklist |
//! | `project.yaml`, `org.yaml`, `workflows/` | [`config`] |
//! | a completion | [`completion_file`] |
//! | a line of the event stream | [`event`] |
//! | any YAML | [`yaml`]: a tree of nodes with byte ranges |
//!
//! No I/O: bytes in, values or [`yaml::Fault`]s with byte ranges out. [`diagnostic`] renders a fault with its line and column.
//! [`schema`] has the JSON Schemas of these files. A fault never loses a file: nothing is written that does not parse again.

pub mod acceptance;
pub mod config;
pub mod diagnostic;
pub mod event;
pub mod json;

pub mod allowed_signers;
pub mod completion_file;
pub mod frontmatter;
pub mod printable;
pub mod schema;
pub mod task_file;
pub mod toml_tree;
pub mod workflow_text;
pub mod yaml;
