//! Moves the worktree to another commit, and recovers that after a kill; other worktrees.

pub(crate) mod fast_forward;
pub(crate) mod join;
pub(crate) mod overwrite_check;
pub(crate) mod recovery;
pub(crate) mod work_branches;
pub(crate) mod worktrees;
