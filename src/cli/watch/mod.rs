//! `aof watch` and `aof sweep`

pub(crate) mod command;
pub(crate) mod json;
pub(crate) mod sweep;
pub(crate) mod text;
