//! Git's index: read, patched for our paths, compared.

pub(crate) mod entries;
pub(crate) mod own_folder;
pub(crate) mod patch;
pub(crate) mod user_index;
