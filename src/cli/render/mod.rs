//! Parts of output that several commands share: tables, pages of tasks, changes, findings.

pub(crate) mod changes;
pub(crate) mod markdown;
pub(crate) mod page;
pub(crate) mod prompt_keys;
pub(crate) mod table;
