//! `.aof/inbox`: completion files, each in exactly one place.

mod files;
mod intended_visit;
mod refused;
mod taken;

pub(crate) use files::{FileClass, Inbox, InboxFile, InboxFolder, QUIET, Witnessed};
pub(crate) use intended_visit::Meant;
pub(crate) use taken::{Delivery, Leftover, TakenFile, TakenLock};

#[cfg(test)]
mod tests;
