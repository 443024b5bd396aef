//! A workflow: gates, routes, forks. Definitions only.

pub mod budget;
pub mod definition;
pub(crate) mod for_each;
pub mod gate;
pub(crate) mod run;
pub mod shape;
pub(crate) mod workspaces;
