//! Commands that start agents.

pub(crate) mod mcp;
pub(crate) mod run;
pub(crate) mod runner;
