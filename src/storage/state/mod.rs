//! Small records below `.aof/` that only save work. Each can be deleted without losing a fact.

pub(crate) mod archive_scan;
pub(crate) mod cursor;
pub(crate) mod due_horizon;
pub(crate) mod remote_contact;
pub(crate) mod watcher_presence;
