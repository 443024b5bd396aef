//! What tests share: a project of their own, judges of it, and whoever acts in it.

pub(crate) mod checker;
pub(crate) mod clones;
pub(crate) mod environment;
pub(crate) mod event_stream;
mod fork_checker;
#[cfg(debug_assertions)]
pub(crate) mod kill_scene;
pub(crate) mod mcp_client;
pub(crate) mod merge_scene;
pub(crate) mod scripted_agents;
mod signature_checker;
pub(crate) mod signer;
pub(crate) mod terminal;
pub(crate) mod watcher;
pub(crate) mod words;
pub(crate) mod workflow_walker;
