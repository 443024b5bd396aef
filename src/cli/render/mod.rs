//! What commands show: pages, tables, output.

pub(crate) mod assignments;
pub(crate) mod expired;
pub(crate) mod output;
pub(crate) mod page;
pub(crate) mod rule_findings;
pub(crate) mod table;
pub(crate) mod unreadable_files;
