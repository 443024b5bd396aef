//! A commit: prepared, published under git's locks, signed.

pub(crate) mod changed_paths;
pub(crate) mod identity;
pub(crate) mod locks;
pub(crate) mod prepare;
pub(crate) mod publish;
pub(crate) mod reference;
pub(crate) mod trailers;
