//! The watcher: reacts to completion files, edits of task files, commits and timers. It does only what `dispatch::sweep` does.
//!
//! File events only wake it, and say which inbox files are finished. What it does comes from looking at the inbox, the tasks and
//! git, so a lost event costs a few seconds, not a completion. It keeps no state on disk but the mark that it runs: several
//! watchers may run, and a killed one leaves nothing that the next does not finish. No error ends it: an error is reported once,
//! and the work is tried again later. SIGINT and SIGTERM end it after the change under way.

pub(crate) mod background;
pub(crate) mod checks;
pub(crate) mod delivery;
pub(crate) mod file_events;
pub(crate) mod metrics;
pub(crate) mod report;
pub(crate) mod watcher;
