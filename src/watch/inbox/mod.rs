//! Completion files that arrive while the watcher runs.

pub(crate) mod backlog;
pub(crate) mod inbox;
pub(crate) mod queue;
