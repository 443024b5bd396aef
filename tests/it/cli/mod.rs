//! The command line as such.

mod editors;
mod planning;
mod printed_commands;
mod task_ids;
mod usage;
mod verbs;
