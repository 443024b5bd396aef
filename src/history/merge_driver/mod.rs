//! Git's merge driver and hooks for task files.

pub(crate) mod attributes;
pub(crate) mod commit_check;
pub(crate) mod driver;
pub(crate) mod hooks;
pub(crate) mod settle;
pub(crate) mod setup;
pub(crate) mod unmerged;
