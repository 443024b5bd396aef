//! What a completion hands on, held against what the gate declares: every problem at once, as data and as sentences.
//!
//! A value is judged as JSON Schema would judge it, in time that the shape's and the value's sizes bound.

mod describe;
mod example;
mod from_text;
mod judge;
mod problem;

#[cfg(test)]
mod tests;

pub use describe::{Field, fields};
pub use example::example;
pub use from_text::from_text;
pub use judge::judge;
pub use problem::{Fact, Problem};
