//! History: commits, ancestry, differences between commits.

pub(crate) mod ancestry;
pub(crate) mod commit_graph;
pub(crate) mod log;
pub(crate) mod lost_commits;
pub(crate) mod merge_commit;
pub(crate) mod rev_parse;
pub(crate) mod shallow;
pub(crate) mod tree_diff;
