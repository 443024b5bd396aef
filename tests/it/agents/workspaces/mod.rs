//! Git worktrees in which agents work at tasks.

mod entry;
mod never_lost;
mod removal;
mod worktrees;
