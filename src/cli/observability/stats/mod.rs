//! `aof stats`

pub(crate) mod bars;
pub(crate) mod command;
pub(crate) mod overview;
pub(crate) mod tables;
