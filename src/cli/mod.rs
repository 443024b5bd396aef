//! The command line. Each command parses its arguments, calls one operation, and renders the result.

pub(crate) mod agents;
pub(crate) mod arguments;
pub(crate) mod demo;
pub(crate) mod error;
pub(crate) mod history;
pub(crate) mod observability;
pub(crate) mod output;
pub mod program;
pub(crate) mod project;
pub(crate) mod render;
pub(crate) mod session;
pub(crate) mod task;
pub(crate) mod text_input;
pub(crate) mod time;
pub(crate) mod watch;
pub(crate) mod workflow;
