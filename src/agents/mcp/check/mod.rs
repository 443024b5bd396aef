//! The MCP wiring, checked by a real client conversation.

pub(crate) mod check;
pub(crate) mod child;
