//! `aof stats`

pub(crate) mod command;
pub(crate) mod overview;
pub(crate) mod tables;
