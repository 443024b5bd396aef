//! Merges, rebases and reverts by the real git.

mod archived_tasks;
mod checklists;
mod criss_cross;
mod driver;
mod mistaken_renames;
mod rewritten_commits;
mod unmerged_files;
