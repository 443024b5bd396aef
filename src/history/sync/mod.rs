//! Sync with a remote: fetch, merge by meaning, push.

pub(crate) mod contact;
pub(crate) mod join;
pub(crate) mod rounds;
pub(crate) mod show;
pub(crate) mod standing;
pub(crate) mod sync;
pub(crate) mod tasks;
