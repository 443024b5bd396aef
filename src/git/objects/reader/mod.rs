//! Reads git objects from loose files and packs.

pub(crate) mod alternates;
pub(crate) mod delta;
pub(crate) mod object_cache;
pub(crate) mod pack_checksum;
pub(crate) mod pack_file;
pub(crate) mod pack_index;
pub(crate) mod packs;
pub(crate) mod reader;
