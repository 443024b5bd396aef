//! AI agents: the MCP server and the runner.

pub(crate) mod mcp;
pub mod runner;
