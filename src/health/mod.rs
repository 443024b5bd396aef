//! The faults of a project, and the issues that need attention.

#![expect(clippy::unnecessary_wraps, reason = "all checks have one signature")]

pub(crate) mod branch;
pub(crate) mod context;
pub(crate) mod doctor;
pub(crate) mod examination;
pub(crate) mod git;
pub(crate) mod local_files;
pub(crate) mod overview;
pub(crate) mod rules;
pub(crate) mod task_files;
pub(crate) mod uncommitted;
