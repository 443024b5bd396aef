//! What a completion hands on, held against what the gate declares: every problem at once, as data and as sentences.
//!
//! A value is judged as JSON Schema would judge it, in time that the shape's and the value's sizes bound.

pub(crate) mod by_gate;
pub(crate) mod describe;
pub(crate) mod example;
pub(crate) mod from_text;
pub(crate) mod judge;

#[cfg(test)]
mod tests;

pub(crate) use by_gate::{settle_at, shape_of};
pub use describe::{Field, fields};
pub use example::example;
pub use from_text::from_text;
pub(crate) use judge::judge_value;
pub use judge::{Problem, judge};
