//! `aof run`

pub(crate) mod approval;
pub(crate) mod changes;
pub(crate) mod command;
pub(crate) mod lines;
pub(crate) mod live;
pub(crate) mod preview;
pub(crate) mod prompt;
pub(crate) mod result;
pub(crate) mod view;
