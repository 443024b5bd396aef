//! Where an outcome leads: gates, forks and their branches.

pub(crate) mod branch;
pub(crate) mod condition_scope;
pub(crate) mod fork;
pub(crate) mod route;
pub(crate) mod workplace;
