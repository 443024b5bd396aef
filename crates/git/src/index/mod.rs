//! Git's index: reading, patching our paths, comparing.

pub(crate) mod entries;
pub(crate) mod own_folder;
pub(crate) mod patch;
pub(crate) mod user_index;
