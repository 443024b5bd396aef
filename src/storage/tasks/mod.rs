//! Task files as bytes: where they are, and what lies beside them.

pub(crate) mod atomic_write;
pub(crate) mod orphaned_companions;
pub(crate) mod task_files;
pub(crate) mod walk;
