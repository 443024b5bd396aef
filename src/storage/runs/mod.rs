//! `.aof/runs`: what agents did that were run.

pub(crate) mod attempt;
pub(crate) mod prune;
pub(crate) mod record;
pub(crate) mod runs;
