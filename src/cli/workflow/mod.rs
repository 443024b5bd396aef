//! `aof workflow ...`

pub(crate) mod command;
pub(crate) mod create;
pub(crate) mod draw;
pub(crate) mod prove;
mod replay;
pub(crate) mod run;
pub(crate) mod show;
