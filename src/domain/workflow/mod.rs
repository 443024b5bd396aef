//! A workflow: gates, routes, forks. Definitions only.

pub(crate) mod definition;
pub(crate) mod for_each;
pub(crate) mod gate;
pub(crate) mod run;
pub(crate) mod shape;
