//! Git objects: read, made in memory, written durably.

pub(crate) mod commit;
pub(crate) mod git_file;
pub(crate) mod loose;
pub(crate) mod reader;
pub(crate) mod tree;
