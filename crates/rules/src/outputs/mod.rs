//! The outputs of a completion, checked against the declaration of the gate: all problems at once, as data and as sentences.
//!
//! A value is judged as JSON Schema would judge it, in time that the sizes of shape and value bound.

pub(crate) mod describe;
pub(crate) mod judge;

#[cfg(test)]
mod tests;

pub use describe::{Field, FieldInput, example, fields};
pub(crate) use describe::{from_text, item_at};
pub use judge::{Problem, judge};
pub(crate) use judge::{check_at, judge_value, leave_out_undeclared, shape_of};
