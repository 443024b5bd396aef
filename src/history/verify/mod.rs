//! `aof verify`: each commit judged by its parent and the rules in force there.

pub(crate) mod branch_moves;
pub(crate) mod claims;
pub(crate) mod commit;
pub(crate) mod commit_reader;
pub(crate) mod finding;
pub(crate) mod history;
pub(crate) mod merge_commit;
pub(crate) mod merge_rules;
pub(crate) mod project_commits;
pub(crate) mod proof;
pub(crate) mod pushed;
pub(crate) mod remerge;
pub(crate) mod signatures;
pub(crate) mod words;
