//! What is wrong with a project, and what needs attention.

pub(crate) mod checks;
pub(crate) mod doctor;
pub(crate) mod points;
pub(crate) mod status;
