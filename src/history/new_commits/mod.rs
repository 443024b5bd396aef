//! New commits since a reader was last told, and the events of each.
//!
//! Notices and the event stream are the two readers. What is told of a commit depends on history alone, not on the worktree, the clock,
//! or when it is asked for.

pub(crate) mod derive_events;
pub(crate) mod unreported;
