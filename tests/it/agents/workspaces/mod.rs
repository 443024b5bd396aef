//! Git worktrees in which agents work at tasks.

mod never_lost;
mod removal;
mod worktrees;
