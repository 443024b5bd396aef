//! The event stream: what happened, one line an event, for logs, metrics and whoever follows along. Most of it is told by commits, and
//! can be told again; what is in no commit is left for it where it happens, and nobody waits for it.

mod apart;
mod counts;
mod derive;
mod keep_up;
mod read;
mod rebuild;

pub(super) use apart::{leave, leave_conflict};
pub use counts::{EventCount, event_counts};
pub use keep_up::{are_events_kept, catch_up_events, keep_events};
pub use read::{EventReader, StreamLine, WantedEvents};
pub use rebuild::{Rebuilt, rebuild_events};
