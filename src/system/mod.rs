//! The operating system: syncs, child processes, signals, memory. Knows nothing of tasks.

pub mod crash_points;
pub(crate) mod disk;
pub mod process;
pub(crate) mod serving;
pub(crate) mod terminal;
