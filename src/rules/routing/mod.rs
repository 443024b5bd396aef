//! Where an outcome leads, who may say it, and what stands in the way.

pub(crate) mod blockers;
pub(crate) mod branch;
pub(crate) mod eligibility;
pub(crate) mod fork;
pub(crate) mod reviews;
pub(crate) mod route;
pub(crate) mod scope;
pub(crate) mod workplace;
