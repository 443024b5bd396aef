//! Metrics as Prometheus reads them: what a family of them is, and how it is written. Counts nothing itself, and knows no clock.

pub(crate) mod family;
pub(crate) mod format;
pub(crate) mod json;
pub(crate) mod text;

pub(crate) use family::{Family, Labels, Samples};
pub(crate) use format::Format;
pub(crate) use json::value;
pub(crate) use text::render;
