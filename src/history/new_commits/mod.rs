//! New commits since a reader was last told, and the events of each.

pub(crate) mod derive_events;
pub(crate) mod new_commits;
pub(crate) mod news;
pub(crate) mod rewritten;
