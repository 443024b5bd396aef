//! The remote repository, through git's command line.

pub(crate) mod answers;
pub(crate) mod fetch;
pub(crate) mod transport;
pub(crate) mod upstream;
