//! `aof verify`: histories, merges, pushes and signatures.

mod history;
mod merge_commits;
mod passkeys;
mod push_hook;
mod signatures;
