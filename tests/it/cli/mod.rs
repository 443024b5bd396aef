//! The command line as such.

mod editors;
mod printed_commands;
mod usage;
mod verbs;
