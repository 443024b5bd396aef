//! Git's index: read, patched for our paths, compared.

pub(crate) mod cache_tree;
pub(crate) mod entries;
pub(crate) mod foreign;
pub(crate) mod own_folder;
pub(crate) mod parse;
pub(crate) mod patch;
pub(crate) mod staged;
pub(crate) mod stat;
pub(crate) mod uncommitted_changes;
pub(crate) mod unmerged;
pub(crate) mod user_index;
