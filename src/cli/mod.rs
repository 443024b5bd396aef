//! The command line: one file a command. Each parses arguments, calls one operation, and renders its result.

pub(crate) mod agents;
pub(crate) mod demo;
pub(crate) mod error;
pub(crate) mod help;
pub(crate) mod history;
pub(crate) mod input;
pub(crate) mod log;
pub(crate) mod observability;
pub mod program;
pub(crate) mod project;
pub(crate) mod render;
pub(crate) mod session;
pub(crate) mod single_command;
pub(crate) mod task;
pub(crate) mod watch;
pub(crate) mod workflow;
