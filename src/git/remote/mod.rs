//! The remote repository, through git's command line.

pub(crate) mod answers;
pub(crate) mod fetch;
pub(crate) mod remote;
pub(crate) mod upstream;
