//! `aof workflow ...`

pub(crate) mod command;
pub(crate) mod create;
pub(crate) mod diff;
pub(crate) mod dot;
pub(crate) mod drawing;
pub(crate) mod graph;
pub(crate) mod import;
pub(crate) mod mermaid;
pub(crate) mod picture;
pub(crate) mod rail;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod validate;
