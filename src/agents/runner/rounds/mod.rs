//! The loop of a runner: who works at what next.

pub(crate) mod asking;
pub(crate) mod finding;
pub(crate) mod lookahead;
pub(crate) mod obstacle;
pub(crate) mod work;
