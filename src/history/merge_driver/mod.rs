//! Git's merge driver and hooks for task files.

pub(crate) mod archive_folder;
pub(crate) mod attributes;
pub(crate) mod by_commits;
pub(crate) mod by_stages;
pub(crate) mod case;
pub(crate) mod driver;
pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod merge_sides;
pub(crate) mod message;
pub(crate) mod places;
pub(crate) mod replayed;
pub(crate) mod settle;
pub(crate) mod taken_back;
pub(crate) mod unfinished;
pub(crate) mod unmerged_tasks;
