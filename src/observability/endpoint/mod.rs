//! The HTTP endpoint `GET /metrics`.

pub(crate) mod endpoint;
pub(crate) mod request;
