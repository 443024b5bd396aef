//! A commit: prepared, and published under git's locks.

pub(crate) mod locks;
pub(crate) mod part;
pub(crate) mod prepare;
pub(crate) mod publish;
