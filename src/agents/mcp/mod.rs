//! The MCP server on stdin and stdout: tools, resources, prompts.

pub(crate) mod arguments;
pub(crate) mod brief;
pub(crate) mod json_rpc;
pub(crate) mod next_call;
pub(crate) mod prompts;
pub(crate) mod registry;
pub(crate) mod resources;
pub(crate) mod schema;
pub(crate) mod server;
pub(crate) mod session;
pub(crate) mod tool_error;
pub(crate) mod tools;
pub(crate) mod wiring_check;
