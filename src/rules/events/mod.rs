//! Events between two states of a task, and who is told of them.

pub(crate) mod audience;
pub(crate) mod derive;
