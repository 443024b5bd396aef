//! Everything that can be wrong with a project's rules.

pub(crate) mod check;
pub(crate) mod finding;
pub(crate) mod forks;
pub(crate) mod gates;
pub(crate) mod org;
pub(crate) mod outputs;
pub(crate) mod reachability;
pub(crate) mod routes;
pub(crate) mod runs;
pub(crate) mod texts;
