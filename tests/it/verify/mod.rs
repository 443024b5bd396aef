//! `aof verify`: histories, merges, pushes and signatures.

mod history;
mod merge_commits;
mod push_hook;
mod signatures;
