//! Notices: messages about commits to people and programs, sent through the outbox. Nothing waits for them.
//!
//! `compose` writes messages about new commits; `delivery` sends them to programs and servers. The two meet only in the outbox, so a
//! receiver that is down delays neither commits nor other receivers.

pub(crate) mod command;
pub(crate) mod compose;
pub(crate) mod delivery;
pub(crate) mod message;
pub(crate) mod webhook;
