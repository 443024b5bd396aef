//! `aof`: task files are the database, gates are the state machine, git is the log.

pub mod audit;
pub mod engine;
pub mod format;
pub mod model;
pub mod ops;
pub mod stop;
pub mod store;
