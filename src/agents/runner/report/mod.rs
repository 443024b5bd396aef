//! What an agent's program printed, read by format.

pub(crate) mod agent_report;
pub(crate) mod claude;
pub(crate) mod codex;
pub(crate) mod gemini;
pub(crate) mod opencode;
pub(crate) mod read;
pub(crate) mod trouble;
