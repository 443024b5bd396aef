//! Where an outcome leads, who may say it, and what stands in the way.

pub(crate) mod conditions;
pub(crate) mod fork;
pub(crate) mod loops;
pub(crate) mod reviews;
pub(crate) mod route;
pub(crate) mod statements;
pub(crate) mod workplace;
