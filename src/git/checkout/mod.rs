//! The worktree brought to another commit, and recovered after a kill.

pub(crate) mod checkout;
pub(crate) mod incoming_files;
pub(crate) mod materialize;
pub(crate) mod overwrite_check;
pub(crate) mod recovery;
pub(crate) mod running_git;
pub(crate) mod sparse_files;
pub(crate) mod staging;
pub(crate) mod worktree_folder;
pub(crate) mod worktrees;
