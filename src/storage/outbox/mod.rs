//! `.aof/outbox`: messages on their way, one file each.

pub(crate) mod dropped;
pub(crate) mod message;
pub(crate) mod outbox;
pub(crate) mod retry_schedule;
