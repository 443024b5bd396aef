//! Files and folders: atomic, durable, never through a symlink.

pub(crate) mod error;
pub(crate) mod file_info;
pub(crate) mod file_names;
pub(crate) mod filesystem_check;
pub(crate) mod folder;
pub(crate) mod holder;
pub(crate) mod open_file;
pub(crate) mod owned_file;
pub(crate) mod project_path;
pub mod random;
