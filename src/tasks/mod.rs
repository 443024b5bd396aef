//! Use cases of tasks. `apply` is the only way a task changes on disk.

pub(crate) mod actions;
pub(crate) mod apply;
pub(crate) mod automatic;
pub mod complete;
pub mod create;
pub(crate) mod edit;
pub(crate) mod headers;
pub(crate) mod inbox;
pub(crate) mod merge;
pub(crate) mod other_worktrees;
pub mod plan;
pub(crate) mod publish;
pub(crate) mod recovery;
pub(crate) mod state;
pub(crate) mod view;
pub(crate) mod write;
