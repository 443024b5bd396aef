//! A project opened: its workspace, rules in force, errors.

pub(crate) mod active_rules;
pub mod aside;
pub(crate) mod author;
pub(crate) mod branch;
pub(crate) mod branch_checkout;
pub(crate) mod error;
pub(crate) mod git_hints;
pub(crate) mod issue;
mod open;
pub(crate) mod parallel_map;
pub(crate) mod rule_check;
pub(crate) mod rule_sources;
pub(crate) mod rules_report;
pub(crate) mod sparse_files;
pub mod workspace;
