//! The MCP tools: what each says of itself, and what it does.

pub(crate) mod act;
pub(crate) mod complete;
pub(crate) mod look;
pub(crate) mod next;
pub(crate) mod text_file;
