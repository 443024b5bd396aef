//! The rules of a project: compiled, hashed, compared, drawn.

pub(crate) mod difference;
pub(crate) mod graph;
pub(crate) mod read_keys;
pub(crate) mod rules;
