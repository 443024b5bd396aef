//! Completion files: taken from the inbox, then settled in the history or refused.

pub(crate) mod deliver;
pub(crate) mod pending;
pub(crate) mod visits;
