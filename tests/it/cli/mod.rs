//! The command line as such.

mod editors;
mod usage;
