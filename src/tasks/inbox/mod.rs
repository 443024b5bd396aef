//! Completion files: taken from the inbox, then settled in the history or refused.

pub(crate) mod backlog;
pub(crate) mod batches;
pub(crate) mod deliver;
pub(crate) mod intended_visit;
pub(crate) mod kept_back;
pub(crate) mod open_files;
pub(crate) mod opening;
pub(crate) mod recipient;
pub(crate) mod refused;
pub(crate) mod refusing;
pub(crate) mod torn;
