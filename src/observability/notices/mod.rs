//! Notices: what was committed is told to whoever wants to know, through the outbox. Nothing waits for it.
//!
//! `compose` writes what is to be said of the commits since it did so last; `delivery` brings it to programs and servers. The two
//! meet only in the outbox, so a receiver that is down delays neither commits nor other receivers.

pub(crate) mod command;
pub(crate) mod compose;
pub(crate) mod delivery;
pub(crate) mod message;
pub(crate) mod webhook;
