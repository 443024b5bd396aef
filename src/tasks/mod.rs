//! Use cases of tasks. `apply` is the only way a task changes on disk.

pub(crate) mod actions;
pub(crate) mod adopt;
pub mod apply;
pub(crate) mod automatic;
pub(crate) mod commit_files;
pub mod complete;
pub mod create;
pub(crate) mod edit;
pub(crate) mod explain;
pub(crate) mod headers;
pub(crate) mod inbox;
pub(crate) mod lookup;
pub(crate) mod recovery;
pub(crate) mod signing;
pub(crate) mod state;
pub(crate) mod uncommitted_events;
pub(crate) mod view;
