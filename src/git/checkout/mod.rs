//! The worktree moved to another commit, and recovered after a kill; other worktrees.

pub(crate) mod bring;
pub(crate) mod index_copy;
pub(crate) mod overwrite_check;
pub(crate) mod recovery;
pub(crate) mod running_git;
pub(crate) mod worktrees;
