//! The command line as such.

mod editors;
mod printed_commands;
mod shell_completion;
mod task_ids;
mod usage;
mod verbs;
