//! The operating system: syncs, child processes, signals, memory, calls of clients. Knows nothing of tasks.

pub mod client_call;
pub mod crash_points;
pub mod disk;
pub mod process;
pub mod serving;
pub mod terminal;
pub mod text;
