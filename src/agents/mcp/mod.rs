//! The MCP server on stdin and stdout, and over HTTP: tools, resources, prompts.

pub(crate) mod change_tools;
pub(crate) mod complete_tool;
mod completions;
pub(crate) mod http;
pub(crate) mod json_rpc;
pub(crate) mod methods;
pub(crate) mod next_call;
pub(crate) mod next_tool;
pub(crate) mod open_project;
pub(crate) mod query_tools;
pub(crate) mod resources;
pub(crate) mod server;
pub(crate) mod tool_schema;
pub(crate) mod versions;
pub(crate) mod wiring_check;
