//! Checks of a project's rules.

mod budgets;
pub(crate) mod checker;
pub(crate) mod duties;
pub(crate) mod exits;
pub(crate) mod loops;
pub(crate) mod staffing;
pub(crate) mod texts;
