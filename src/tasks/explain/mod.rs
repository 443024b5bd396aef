//! Why a task stands where it stands.

pub(crate) mod deadlines;
pub(crate) mod sentences;
pub(crate) mod why;
