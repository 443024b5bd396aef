//! The MCP server on stdin and stdout: tools, resources, prompts.

pub(crate) mod arguments;
pub(crate) mod brief;
pub(crate) mod calls_in_flight;
pub(crate) mod check;
pub(crate) mod current;
pub(crate) mod next_call;
pub(crate) mod prompts;
pub(crate) mod resources;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod server;
pub(crate) mod session;
pub(crate) mod stdio;
pub(crate) mod text_file;
pub(crate) mod tool_error;
pub(crate) mod tools;
