//! One attempt of an agent: planned, launched, supervised, read.

pub(crate) mod answer;
pub(crate) mod attempt;
pub(crate) mod launch;
pub(crate) mod mcp_wiring;
pub(crate) mod plan;
pub(crate) mod printed;
pub(crate) mod prompt;
pub(crate) mod record;
pub(crate) mod supervise;
