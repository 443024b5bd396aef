//! `aof verify`: each commit judged by its parent and the rules in force there.

pub(crate) mod again;
pub(crate) mod claims;
pub(crate) mod finding;
pub(crate) mod judge;
pub(crate) mod merge;
pub(crate) mod merge_claims;
pub(crate) mod merge_rules;
pub(crate) mod past;
pub(crate) mod proved;
pub(crate) mod pushed;
pub(crate) mod replayed;
pub(crate) mod shared;
pub(crate) mod signed;
pub(crate) mod text;
pub(crate) mod verify;
