//! `aof verify`: each commit judged by its parent and the rules in force there.

pub(crate) mod children;
pub(crate) mod commit;
pub(crate) mod commit_archive;
pub(crate) mod commit_reader;
pub(crate) mod finding;
pub(crate) mod history;
pub(crate) mod landings;
pub(crate) mod merge_commit;
pub(crate) mod signatures;
pub(crate) mod squash;
