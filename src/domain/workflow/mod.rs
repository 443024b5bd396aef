//! A workflow: gates, routes, forks. Definitions only.

pub(crate) mod brief;
pub(crate) mod context;
pub(crate) mod fork;
pub(crate) mod gate;
pub(crate) mod route;
pub(crate) mod run;
pub(crate) mod shape;
pub(crate) mod signal;
pub(crate) mod workflow;
