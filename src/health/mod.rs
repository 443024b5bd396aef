//! What is wrong with a project, and what needs attention.

pub(crate) mod checks;
pub(crate) mod doctor;
pub(crate) mod examination;
pub(crate) mod status;
pub(crate) mod subject;
