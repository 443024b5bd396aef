//! Commands about the project.

pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod migrate;
pub(crate) mod org;
pub(crate) mod status;
