//! What an agent's program printed, read by format.

pub(crate) mod claude;
pub(crate) mod codex;
pub(crate) mod gemini;
pub(crate) mod object;
pub(crate) mod objects;
pub(crate) mod opencode;
pub(crate) mod report;
pub(crate) mod text;
pub(crate) mod trouble;
