//! Clones that sync by a remote.

mod changes_after_kill;
mod claims;
mod dispatch;
mod divergence;
mod file_kinds;
mod file_transfer;
mod hostile_remotes;
mod interruption;
mod non_utf8_names;
mod recurring;
mod remote_branches;
mod remote_failures;
mod torture;
