//! Commands about the project.

pub(crate) mod doctor;
pub(crate) mod gate;
pub(crate) mod init;
pub(crate) mod init_added;
pub(crate) mod migrate;
pub(crate) mod org;
pub(crate) mod org_show;
pub(crate) mod pages;
pub(crate) mod status;
