//! Files and folders: atomic, durable, never through a symlink.

pub(crate) mod atomic_file;
pub(crate) mod file_kind;
pub(crate) mod file_stat;
pub(crate) mod filesystem_check;
pub(crate) mod folder;
pub(crate) mod open_file;
pub(crate) mod owned_file;
pub(crate) mod project_path;
pub(crate) mod temporary_file;
