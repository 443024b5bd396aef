//! What a command says besides its result, and the clock that it goes by: both come from the door.

use tracing::warn;

use crate::domain::Timestamp;

/// Tells the time. It comes from the door, so that tests can move it.
pub type Clock = fn() -> Timestamp;

/// What a command has to say besides what comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aside<'a> {
    /// What it waits for.
    Wait(&'a str),
    /// What it came upon, and nothing stops at.
    Warning(&'a str),
}

/// Who is told of it.
pub type Tell = fn(Aside<'_>);

/// Tells the log what is to be known, where nobody reads along.
pub fn warn_in_log(aside: Aside<'_>) {
    if let Aside::Warning(text) = aside {
        warn!("{text}");
    }
}
