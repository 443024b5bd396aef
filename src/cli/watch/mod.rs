//! `aof watch` and `aof sweep`

pub(crate) mod command;
pub(crate) mod sweep;
pub(crate) mod value;
pub(crate) mod words;
