//! The watcher: reacts to completion files, edits of task files, commits and timers. It does only what `dispatch::sweep` does.
//!
//! File events only wake it, and show which inbox files are finished. Its actions follow from reading the inbox, the tasks and
//! git, so a lost event costs a few seconds, not a completion. It keeps no state on disk except the mark that it runs: several
//! watchers may run, and the next one finishes the work of a killed one. No error ends it: an error is reported once, and the
//! work is tried again later. SIGINT and SIGTERM end it after the change in progress.

pub(crate) mod background;
pub(crate) mod checks;
pub(crate) mod delivery;
pub(crate) mod file_events;
pub(crate) mod metrics;
pub(crate) mod report;
pub(crate) mod watcher;
