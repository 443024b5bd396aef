//! Messages delivered to programs and web servers.

pub(crate) mod command;
pub(crate) mod delivery;
pub(crate) mod public_address;
pub(crate) mod response;
pub(crate) mod signature;
pub(crate) mod webhook;
