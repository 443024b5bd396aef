//! The commands with which people write tasks: `aof new`, `edit`, `comment`.

pub(crate) mod edit;
mod list;
pub(crate) mod new;
