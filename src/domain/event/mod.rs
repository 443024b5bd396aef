//! What happened, and who wants to be told of it.

pub(crate) mod change_events;
pub(crate) mod event;
pub(crate) mod event_id;
pub(crate) mod subscription;
