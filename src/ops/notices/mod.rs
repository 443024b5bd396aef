//! Notices: what was committed is told to whoever wants to know, through the outbox. Nothing waits for it.
//!
//! `put_out` writes what is to be said of the commits since it did so last; `delivery` brings it to programs and servers. The two
//! meet only in the outbox, so a receiver that is down delays neither commits nor other receivers.

mod compose;
mod delivery;
mod derive;
mod list;

pub(super) use compose::put_conflict;
pub use delivery::{Receiver, Round, Tried, deliver_channel, deliver_notices, receivers};
pub use derive::{Put, put_out};
pub use list::{Outgoing, Standing as OutgoingStanding, forget_dropped, outgoing, outgoing_value};
