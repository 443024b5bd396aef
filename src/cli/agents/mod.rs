//! Commands that start agents or serve them.

pub(crate) mod approval;
pub(crate) mod mcp;
pub(crate) mod news;
pub(crate) mod preview;
pub(crate) mod result;
pub(crate) mod run;
pub(crate) mod runner;
pub(crate) mod view;
