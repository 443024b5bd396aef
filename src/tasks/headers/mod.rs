//! Summaries of tasks: what lists, dispatch and counts need of every task.

pub(crate) mod children;
pub(crate) mod dependencies;
pub(crate) mod entry_run;
pub(crate) mod filter;
pub(crate) mod list;
pub(crate) mod listing;
pub(crate) mod lookup;
pub(crate) mod mentions;
pub(crate) mod search;
pub(crate) mod spending;
pub(crate) mod summary;
pub(crate) mod waiting;
