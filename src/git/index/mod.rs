//! Git's index: read, patched for our paths, compared.

pub(crate) mod cache_tree;
pub(crate) mod commit_hook_index;
pub(crate) mod entries;
pub(crate) mod foreign;
pub(crate) mod index_copy;
pub(crate) mod parse;
pub(crate) mod patch;
pub(crate) mod refresh;
pub(crate) mod staged_files;
pub(crate) mod stale_entries;
pub(crate) mod stat;
pub(crate) mod uncommitted_changes;
pub(crate) mod unmerged;
pub(crate) mod user_index;
