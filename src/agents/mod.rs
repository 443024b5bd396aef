//! AI agents: the MCP server, the runner, and hooks of their sessions.

pub(crate) mod hook;
pub(crate) mod mcp;
pub mod runner;
