//! Merges, rebases and reverts by the real git.

mod archived_tasks;
mod criss_cross;
mod driver;
mod messages;
mod mistaken_renames;
mod rebase_and_revert;
mod unmerged_files;
