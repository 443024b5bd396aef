//! Completion files, and the watcher that takes them.

mod delivery;
mod late_files;
mod pending_files;
mod same_visit;
mod watcher;
