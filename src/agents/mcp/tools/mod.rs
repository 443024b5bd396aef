//! The MCP tools, one file each.

pub(crate) mod comment;
pub(crate) mod complete;
pub(crate) mod create;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod next;
pub(crate) mod release;
pub(crate) mod renew;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod tool;
pub(crate) mod workflows;
