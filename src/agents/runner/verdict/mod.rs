//! The verdict of a run, read from several sources.

pub(crate) mod answers;
pub(crate) mod judge;
pub(crate) mod question;
