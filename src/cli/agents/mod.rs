//! Commands that start agents or serve them.

pub(crate) mod hook;
pub(crate) mod land;
pub(crate) mod mcp;
pub(crate) mod mcp_token;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod trust;
pub(crate) mod workspace;
