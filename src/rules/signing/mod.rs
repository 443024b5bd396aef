//! What is signed of a completion, and whether the signature holds.

pub(crate) mod canonical;
pub(crate) mod ssh;
pub(crate) mod verify;
