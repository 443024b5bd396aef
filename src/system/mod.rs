//! The operating system: waits for the disk, other people's programs, signals. Knows no noun of ours.

pub mod crash_points;
pub(crate) mod disk;
pub mod process;
pub(crate) mod terminal;
