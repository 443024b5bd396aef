//! Git objects: read, made in memory, written durably.

pub(crate) mod alternates;
pub(crate) mod commit;
pub(crate) mod deflate;
pub(crate) mod git_file;
pub(crate) mod loose;
pub(crate) mod pack_damage;
pub(crate) mod pack_writer;
pub(crate) mod person;
pub(crate) mod reader;
pub(crate) mod tree;
