//! The boards, fed by the file events of their projects.

pub(crate) mod command;
pub(crate) mod feed;
pub(crate) mod serve;

pub(crate) use command::{BoardArgs, run_board};
pub(crate) use serve::{ServeArgs, run_serve};
