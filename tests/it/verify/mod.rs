//! `aof verify`: histories, merges, pushes and signatures.

mod history;
mod merge_commits;
mod old_history;
mod passkeys;
mod push_hook;
mod signatures;
mod squashes;
