//! Safe file access: folders held open, atomic replacement, locks, paths of the project.

pub(crate) mod error;
pub(crate) mod folder;
pub(crate) mod project_path;
pub mod random;
pub(crate) mod temporary_file;
