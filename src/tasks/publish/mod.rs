//! Files and commits of a change, in one move of the branch. Callers hold the writer lock.

pub(crate) mod commit;
pub(crate) mod file_writes;
