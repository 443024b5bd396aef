//! The event stream: what happened, one line an event, for logs, metrics and whoever follows along. Most of it is told by commits, and
//! can be told again; what is in no commit is left for it where it happens, and nobody waits for it.

pub mod catch_up;
pub(crate) mod counts;
pub(crate) mod derive;
pub(crate) mod read;
pub mod rebuild;

pub use catch_up::{are_events_kept, catch_up_events, keep_events};
pub use counts::{EventCount, event_counts};
pub use read::{EventReader, StreamLine, WantedEvents};
pub use rebuild::{Rebuilt, rebuild_events};
pub(crate) mod uncommitted;
