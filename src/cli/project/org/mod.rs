//! `aof org ...`

pub(crate) mod command;
pub(crate) mod reload;
pub(crate) mod show;
