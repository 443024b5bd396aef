//! Everything that can be wrong with a project's rules.

pub(crate) mod check;
pub(crate) mod duties;
pub(crate) mod exits;
pub(crate) mod finding;
pub(crate) mod org;
pub(crate) mod outputs;
pub(crate) mod reachability;
pub(crate) mod texts;
