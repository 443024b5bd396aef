//! The watcher: reacts to completion files, edits of task files, commits and timers. Does only what `dispatch::sweep` does.

pub(crate) mod event_worker;
pub(crate) mod file_events;
pub(crate) mod inbox;
pub(crate) mod metrics_worker;
pub(crate) mod notice_worker;
pub(crate) mod pause;
pub(crate) mod report;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod schedule;
pub(crate) mod sync_requests;
pub(crate) mod sync_worker;
pub(crate) mod tasks;
pub(crate) mod wakeup;
pub(crate) mod watch;
