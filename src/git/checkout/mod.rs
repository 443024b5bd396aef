//! The worktree moved to another commit, and recovered after a kill; other worktrees.

pub(crate) mod bring;
pub(crate) mod overwrite_check;
pub(crate) mod recovery;
pub(crate) mod worktrees;
