//! Repositories in all their states: indexes, worktrees, branches, damage.

mod aof_folder;
mod code_commits;
mod committed_aof_folder;
mod configuration;
mod damaged_repository;
mod line_endings;
mod maintenance;
mod overtaken_merge;
pub(crate) mod project_branch;
mod project_branch_checkout;
mod repository_states;
mod rewound_branch;
mod sparse_checkout;
mod stale_index;
mod worktrees;
