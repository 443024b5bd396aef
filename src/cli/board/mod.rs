//! The boards, fed by the file events of their projects.

pub(crate) mod command;
pub(crate) mod feed;

pub(crate) use command::{BoardArgs, run_board};
