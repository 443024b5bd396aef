//! The command line as such.

mod editors;
mod planning;
mod printed_commands;
mod usage;
mod verbs;
