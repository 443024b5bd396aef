//! One workflow, in `project.yaml` or in a file of its own.

pub(crate) mod brief;
pub(crate) mod context;
pub(crate) mod definition;
pub(crate) mod gate;
pub(crate) mod route;
