//! `aof status`.

pub(crate) mod gone;
pub(crate) mod overview;
pub(crate) mod uncommitted;
pub(crate) mod undelivered;
pub(crate) mod unreadable;
