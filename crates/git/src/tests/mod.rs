//! The `git` folder against real repositories, read back by the git command line.

pub(crate) mod environment;

mod commits;
mod hostile;
mod indexes;
mod locking;
mod walks;
