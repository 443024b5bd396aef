//! An opened project: its workspace, rules in force, errors; access over HTTP; the programs that a user trusts, and runs of
//! acceptance tests.

pub(crate) mod access;
pub(crate) mod active_rules;
pub(crate) mod error;
pub(crate) mod git_hints;
pub(crate) mod issue;
pub(crate) mod left_steps;
pub(crate) mod named_branch;
pub(crate) mod open;
pub(crate) mod proofs;
pub(crate) mod rule_files;
pub(crate) mod rule_lookup;
pub(crate) mod task_worktrees;
pub(crate) mod test_run;
pub(crate) mod trust;
pub mod workspace;
