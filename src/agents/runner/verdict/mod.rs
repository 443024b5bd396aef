//! The verdict of a run, read from several sources.

pub(crate) mod ending;
pub(crate) mod fenced;
pub(crate) mod file;
pub(crate) mod read;
pub(crate) mod sources;
pub(crate) mod structured;
