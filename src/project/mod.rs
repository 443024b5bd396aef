//! An opened project: its workspace, rules in force, errors.

pub(crate) mod active_rules;
pub(crate) mod error;
pub(crate) mod git_hints;
pub(crate) mod issue;
pub(crate) mod open;
pub(crate) mod rule_files;
pub(crate) mod rule_lookup;
pub(crate) mod trust;
pub mod workspace;
