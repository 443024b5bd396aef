//! Metrics as Prometheus reads them: what a family of them is, and how it is written. Counts nothing itself, and knows no clock.

mod exposition;
mod family;
mod format;
mod histogram;
mod json;

pub use exposition::render;
pub use family::{Family, Labels, Samples};
pub use format::Format;
pub use histogram::Histogram;
pub use json::value;
