//! The HTTP endpoint `GET /metrics`.

pub(crate) mod request;
pub(crate) mod server;
