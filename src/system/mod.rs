//! The operating system: syncs, child processes, signals, memory. Knows nothing of tasks.

pub mod crash_points;
pub(crate) mod disk;
pub(crate) mod memory;
pub mod process;
pub(crate) mod terminal;
