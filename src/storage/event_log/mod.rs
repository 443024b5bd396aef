//! `.aof/events.jsonl`: the event stream.

pub(crate) mod end;
pub(crate) mod event_log;
pub(crate) mod reading;
pub(crate) mod writer;
