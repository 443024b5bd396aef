//! What a completion hands on, held against what the gate declares: every problem at once, as data and as sentences.
//!
//! A value is judged as JSON Schema would judge it, in time that the shape's and the value's sizes bound.

mod as_numbers;
mod by_gate;
mod describe;
mod example;
mod from_text;
mod judge;
mod problem;

#[cfg(test)]
mod tests;

pub(super) use by_gate::{settle_at, shape_of};
pub use describe::{Field, fields};
pub use example::example;
pub use from_text::from_text;
pub use judge::judge;
pub(super) use judge::judge_value;
pub use problem::{Fact, Problem};
