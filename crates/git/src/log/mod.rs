//! History: commits, ancestry, differences between commits.

pub(crate) mod ancestry;
pub(crate) mod lost_commits;
pub(crate) mod merge_commit;
pub mod trailers;
pub(crate) mod tree_diff;
pub mod walk;
