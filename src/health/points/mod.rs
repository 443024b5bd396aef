//! Points that `aof status` and `aof doctor` both tell of.

pub(crate) mod duplicate_files;
pub(crate) mod edited_archive;
pub(crate) mod git;
pub(crate) mod orphaned_companions;
pub(crate) mod rules;
pub(crate) mod stray_completions;
pub(crate) mod tasks;
