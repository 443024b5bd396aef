//! Folders of the worktree, held open so that no symlink is followed.

pub(crate) mod folder;
pub(crate) mod placing;
