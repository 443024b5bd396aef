//! Routing: the destinations of outcomes, the agents that may complete, and the blockers of a task.

pub(crate) mod conditions;
pub(crate) mod fork;
pub(crate) mod loops;
pub mod reviews;
pub(crate) mod route;
pub mod statements;
pub(crate) mod workplace;
