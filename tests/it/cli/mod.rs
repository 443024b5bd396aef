//! The command line as such.

mod board;
mod briefs;
mod editors;
mod identity;
mod lists;
mod local_times;
mod planning;
mod printed_commands;
mod search;
mod shell_completion;
mod states;
mod task_ids;
mod usage;
mod verbs;
pub(crate) mod web;
