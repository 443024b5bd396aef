//! Git's index: read, changed for our paths, compared.

pub(crate) mod entries;
pub(crate) mod own_folder;
pub(crate) mod staged;
pub(crate) mod uncommitted_changes;
pub(crate) mod unmerged;
pub(crate) mod user_index;
