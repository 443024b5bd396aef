//! The event stream: what happened, one line an event, for logs, metrics and whoever follows along. Most of it is told by commits, and
//! can be told again; what is in no commit is left for it where it happens, and nobody waits for it.

pub mod catch_up;
pub(crate) mod lines;
