//! Git objects: read, made in memory, written durably.

pub(crate) mod commit_bytes;
pub(crate) mod commit_object;
pub(crate) mod deflate;
pub(crate) mod id;
pub(crate) mod loose;
pub(crate) mod pack_writer;
pub(crate) mod reader;
pub(crate) mod tree;
