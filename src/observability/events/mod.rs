//! The event stream: one line for each event, for logs, metrics and `aof events --follow`. Most events are derived from commits, and can
//! be derived again. An event that is in no commit is left in a file when it happens, and the next writer adds it.

pub mod catch_up;
pub(crate) mod latest;
pub(crate) mod lines;
