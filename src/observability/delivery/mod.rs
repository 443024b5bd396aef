//! Messages delivered to programs and web servers.

pub(crate) mod command;
pub(crate) mod deliver;
pub(crate) mod message;
pub(crate) mod public_address;
pub(crate) mod signature;
pub(crate) mod webhook;
