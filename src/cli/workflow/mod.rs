//! `aof workflow ...`

pub(crate) mod command;
pub(crate) mod create;
pub(crate) mod diagrams;
pub(crate) mod diff;
pub(crate) mod draw;
pub(crate) mod import;
pub(crate) mod run;
pub(crate) mod show;
