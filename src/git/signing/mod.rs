//! Signatures as git makes them.

pub(crate) mod sign;
pub(crate) mod ssh;
